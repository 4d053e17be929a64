import { existsSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECTS } from './support/projects.ts';
import { ROOT, sourceFiles } from './support/rules/source-files.ts';

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
/** Projects that these scripts run. */
const runBy = (...names: string[]) =>
  PROJECTS.filter(({ name }) => names.some((each) => scripts[each]?.split(' ').includes(name)));
const runsIn = (projects: (typeof PROJECTS)[number][], path: string): boolean =>
  projects.some(({ include }) => include.some((pattern) => matchesGlob(path, pattern)));

/** `src/model/key.test.ts`, "beginning of a name", "of another": a file, and what the names of its tests begin with. */
const CITATION = /`([^`]+\.test\.ts)`((?:, "[^"]+")+)/g;
const ATTACK = /`npm run attack -- --only (\w+)`/g;
/** From here on the page says what is not promised, and cites no test. */
const NOT_PROMISED = /^## What it does not promise$/m;
/** Shorter beginnings could stand in any file. */
const SHORTEST = 10;

interface Promised {
  /** The cells before the last one. */
  readonly promise: string;
  readonly shownBy: string;
}

/** What a page of guarantees promises. @throws Error where something stands between the tables, which nobody reads */
function promisesOf(page: string): Promised[] {
  const [, ...sections] = (page.split(NOT_PROMISED)[0] ?? '').split(/^## .*\n/m);
  return sections.flatMap((section) => {
    const [head = '', rule = '', ...rows] = section.split('\n').filter((line) => line !== '');
    if (!head.endsWith('| shown by |') || !/^[|-]+$/.test(rule)) throw new Error(`no table of promises: ${head}`);
    return rows.map((row) => {
      const [, promise, shownBy] = /^\| (.+) \| (.*) ?\|$/.exec(row) ?? [];
      if (promise === undefined || shownBy === undefined) throw new Error(`no row of a table: ${row}`);
      return { promise, shownBy };
    });
  });
}

/** The words in bold, which are those of another document; a full stop at their end aside. */
const boldIn = (markdown: string): string[] =>
  [...markdown.matchAll(/\*\*(.+?)\.?\*\*/g)].map(([, words = '']) => words);

const sectionOf = (path: string, heading: string): string =>
  text(path).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

const atLineBegin = (markdown: string, begin: RegExp): string[] =>
  markdown.split('\n').flatMap((line) => (begin.test(line) ? boldIn(line).slice(0, 1) : []));

const INVARIANTS = atLineBegin(sectionOf('ARCHITECTURE.md', 'What must always hold'), /^\d+\. \*\*/);
const CLAIMS = atLineBegin(text('README.md').split('\n## ')[0] ?? '', /^- \*\*/);
const GUARDS = atLineBegin(sectionOf('SECURITY.md', 'What the program guards'), /^\*\*/);

const escape = (words: string): string => words.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/** Whether a file of tests has a name, or a row of a table of names, that begins like this; comments aside. */
function hasTest(source: string, words: string): boolean {
  const code = source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  return new RegExp(String.raw`(?<!\.(?:skip|todo)\(\s*)(?<=[(\[,:]\s*)['"\`]${escape(words)}`).test(code);
}

/** What is wrong with a promise's tests: one line each. */
function wrongTests({ promise, shownBy }: Promised): string[] {
  const cited = [...shownBy.matchAll(CITATION)].map(([, path = '', names = '']) => ({
    path,
    names: [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
  }));
  const attacks = [...shownBy.matchAll(ATTACK)].map(([, name = '']) => name);
  const rest = shownBy.replaceAll(CITATION, '').replaceAll(ATTACK, '').replaceAll(/[;\s]/g, '');
  const isInvariant = boldIn(promise).some((words) => INVARIANTS.includes(words));
  const wrong = [
    ...(cited.length + attacks.length === 0 ? ['no test'] : []),
    ...(rest === '' ? [] : [`not read: ${rest}`]),
    ...attacks
      .filter((name) => !text('test/attack/attacks.ts').includes(`from './${name}/`))
      .map((name) => `no attack ${name}`),
    ...cited.flatMap(({ path, names }) => {
      if (!existsSync(join(ROOT, path))) return [`no file ${path}`];
      if (!runsIn(runBy('test', 'test:long', 'test:python'), path)) return [`no script runs ${path}`];
      if (isInvariant && !runsIn(runBy('test'), path)) return [`npm test does not run ${path}`];
      const short = names.filter((name) => name.length < SHORTEST).map((name) => `too short: ${name}`);
      const missing = names.filter((name) => !hasTest(text(path), name)).map((name) => `${path} has no test "${name}"`);
      return [...short, ...missing];
    }),
  ];
  return wrong.map((line) => `${promise.slice(0, 40)}: ${line}`);
}

const PAGE = text('docs/guarantees.md');

/** A page with one promise more, in the last table. */
const pageWith = (row: string): string => PAGE.replace(/\n+(?=## What it does not promise)/, `\n${row}\n\n`);
const problemsOf = (page: string): string[] => promisesOf(page).flatMap(wrongTests);

describe('docs/guarantees.md', () => {
  it('has a test for each promise, which some script runs; for the ten invariants one that npm test runs', () => {
    expect(problemsOf(PAGE)).toEqual([]);
    expect(INVARIANTS).toHaveLength(10);
  });

  it('says how many promises it has', () => {
    expect(PAGE.split('\n')[4]).toMatch(new RegExp(`^${promisesOf(PAGE).length} promises\\b`));
    expect(promisesOf(PAGE).length).toBeGreaterThan(40);
  });

  it('has in bold every claim of the README, invariant of ARCHITECTURE.md and guard of SECURITY.md, and no other', () => {
    expect(CLAIMS.length).toBeGreaterThan(3);
    expect(GUARDS.length).toBeGreaterThan(7);
    const bold = promisesOf(PAGE).flatMap(({ promise }) => boldIn(promise));
    expect(bold.toSorted()).toEqual([...CLAIMS, ...INVARIANTS, ...GUARDS].toSorted());
  });

  it.each([
    ['without a test', '', 'no test'],
    ['that is said to be tested', 'all tests', 'not read: alltests'],
    ['with a file that there is not', '`test/gone.test.ts`, "keeps every digit"', 'no file test/gone.test.ts'],
    [
      'with a test that there is not',
      '`src/model/key.test.ts`, "keeps all"',
      'src/model/key.test.ts has no test "keeps all"',
    ],
    [
      'with a file that no script runs',
      '`test/containers/compose.docker-test.ts`, "gives no container more"',
      'not read: `test/containers/compose.docker-test.ts`,"givesnocontainermore"',
    ],
    [
      'with tests of Citus, which few can run',
      '`test/citus/nodes.test.ts`, "counts slots by the clock"',
      'no script runs test/citus/nodes.test.ts',
    ],
    ['with a name that any file could have', '`src/model/key.test.ts`, "IDs"', 'too short: IDs'],
    ['with an attack that there is not', '`npm run attack -- --only all`', 'no attack all'],
  ])('finds a promise %s', (_, shownBy, wrong) => {
    expect(problemsOf(pageWith(`| A promise | ${shownBy} |`))).toContain(`A promise: ${wrong}`);
  });

  it('finds an invariant that only the long tests prove', () => {
    const path = 'test/system/keys/secrets.test.ts';
    const row = `| **Page-atomic.** | \`${path}\`, "of commands with wrong keys" |`;
    expect(problemsOf(pageWith(row))).toContain(`**Page-atomic.**: npm test does not run ${path}`);
  });

  it.each(['A promise in a sentence.', '- A promise in a list', '| a promise in one cell |'])(
    'takes nothing for prose that stands among promises: %s',
    (line) => expect(() => promisesOf(pageWith(line))).toThrow(/^no row of a table: /),
  );

  it('takes a section without a table for none of promises', () => {
    expect(() => promisesOf(pageWith('\n## More\n\nA promise.'))).toThrow('no table of promises: A promise.');
  });
});

describe('a test of a name', () => {
  it.each([
    ["it('keeps every digit', () => {", true],
    ['it.each([1])(\n  `keeps every %s`, () => {', true],
    ["it.each([\n  ['keeps every row', 1],\n])('%s', () => {", true],
    ["// it('keeps every digit', () => {", false],
    [" * it('keeps every digit', …", false],
    ["it.skip('keeps every digit', () => {", false],
    ["it('never keeps every digit', () => {", false],
  ])('%j', (source, has) => expect(hasTest(source, 'keeps every')).toBe(has));
});

it('the quick gate and the rest of what CI runs leave no test file out', () => {
  const names = ['test', 'test:long', 'test:python', 'test:citus'];
  for (const name of names) expect(text('.ci/run')).toMatch(new RegExp(`npm (run -s )?${name}\\b`));
  expect(runBy(...names)).toEqual(PROJECTS);
  const paths = ['src', 'packages', 'test'].flatMap(sourceFiles).map(({ path }) => path);
  expect(paths.filter((path) => path.endsWith('.test.ts') && !runsIn([...PROJECTS], path))).toEqual([]);
});
