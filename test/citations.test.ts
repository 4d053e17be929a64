import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './support/rules/source-files.ts';

const FOLDERS = ['src', 'test', 'bench', 'build', 'bin', 'docs', 'packages', 'docker', 'migrations'];
const TEXT = /\.(?:ts|js|md|sql|ya?ml|sh|json)$/;

/** They are never edited once they have landed: what their comments cite stays as it was then. */
const LANDED = /^migrations\/00(?:[0-2]\d|3[0-8])_/;

/** All text of the repository, by path. A test needs no git: a checkout may have come as an archive. */
function allText(): Map<string, string> {
  const inFolders = FOLDERS.filter((folder) => existsSync(join(ROOT, folder))).flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      posix.join(folder, name.replaceAll('\\', '/')),
    ),
  );
  const atRoot = readdirSync(ROOT).filter((name) => /\.md$|\.config\.ts$|^docker-compose\.yml$/.test(name));
  const paths = [...inFolders, ...atRoot].filter(
    (path) => TEXT.test(path) && !path.includes('node_modules/'),
  );
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
}

const has = (path: string): boolean => existsSync(join(ROOT, path));

/** What citations may lead to. Paths are from the root of the checkout, with forward slashes. */
interface Repository {
  readonly files: ReadonlyMap<string, string>;
  /** Whether there is such a file or folder. */
  readonly has: (path: string) => boolean;
}

/** A text in which citations are looked for. */
interface Cited {
  readonly path: string;
  readonly text: string;
}

interface Violation {
  readonly at: number;
  readonly says: string;
}

interface Rule {
  readonly name: string;
  readonly find: (cited: Cited, repository: Repository) => readonly Violation[];
}

/** Between two words, also where a comment goes on in its next line. */
const GAP = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:\*|//|--|#)?[ \t]*)`;
const DELETIONS = 'docs/design/deletions.md';
const SPECIFICATION = 'docs/specification.md';

const OUTSIDE: readonly RegExp[] = [
  pattern(String.raw`\bdesign${GAP}\d+\b`),
  /\bdesign\.md/g,
  /\bunknowns\.md/g,
  // A file of this name has the rules in code.
  /\bsql-rules(?!\.ts)/g,
  /\b(?:contract|style)\.md/g,
  pattern(String.raw`\bcontract,?${GAP}"[^"]+"`),
  /(?<![\w/-])models\/[\w.-]*\w/g,
];

const RULES: readonly Rule[] = [
  {
    name: 'no document of the repository',
    find: ({ text }) => OUTSIDE.flatMap((outside) => matches(text, outside, (found) => found)),
  },
  {
    name: 'no such document or decision',
    find: ({ text }, { files }) => [
      ...matches(text, /(?<![\w./-])docs\/[\w./-]+\.md/g, (path) => (files.has(path) ? undefined : path)),
      ...matches(text, listOf(String.raw`decisions?(?:${GAP}records?)?`, String.raw`\d{4}`), (found) => {
        const known = [...files.keys()].flatMap((path) => /^docs\/decisions\/(\d{4})-/.exec(path)?.[1] ?? []);
        return unknown('decision', found, /\d{4}/g, known);
      }),
    ],
  },
  {
    name: 'no such heading',
    find: ({ path, text }, { files }) =>
      matches(
        text,
        pattern(
          String.raw`(?:(?<![\w./-])(docs/[\w./-]+\.md)\`?|\]\(([\w./-]+\.md)\)),${GAP}["“]([^"”]+)["”]`,
        ),
        (_, fromRoot, fromHere, quoted = '') => {
          const target = fromRoot ?? posix.join(posix.dirname(path), fromHere ?? '');
          const heading = quoted.replaceAll(new RegExp(GAP, 'g'), ' ');
          const document = files.get(target);
          const there = document === undefined || headings(document).includes(heading);
          return there ? undefined : `${target}, "${heading}"`;
        },
      ),
  },
  {
    name: 'no such section of docs/specification.md',
    find: ({ text }, { files }) => {
      const known = headings(files.get(SPECIFICATION) ?? '').flatMap(
        (each) => /^\d+(?:\.\d+)?/.exec(each) ?? [],
      );
      const cited = listOf(String.raw`specification(?:,?${GAP}\(?sections?)?`, String.raw`\d+(?:\.\d+)?`);
      return matches(text, cited, (found) => unknown('specification', found, /\d+(?:\.\d+)?/g, known));
    },
  },
  {
    name: 'no such heading in docs/design/deletions.md',
    find: ({ text }, { files }) => {
      const defined = headings(files.get(DELETIONS) ?? '');
      return matches(text, /\bP[012]\b/g, (proof) => (defined.includes(proof) ? undefined : proof));
    },
  },
  {
    name: 'no such path',
    find: (cited, { has }) =>
      matches(
        commentsOf(cited),
        /(?<![\w./@-])(?:src|test|bench)\/[\w./*-]*[\w*]/g,
        // Of a pattern, the folder in which it begins.
        (path) => (has(path.includes('*') ? path.replace(/\/[^/]*\*.*/s, '') : path) ? undefined : path),
      ),
  },
];

/** One line for each citation that leads nowhere: `file:line: what is wrong: the citation`. */
function brokenCitations(all: readonly Cited[], repository: Repository): string[] {
  return all.flatMap((cited) =>
    RULES.flatMap(({ name, find }) =>
      find(cited, repository)
        .toSorted((a, b) => a.at - b.at)
        .map(({ at, says }) => `${cited.path}:${lineAt(cited.text, at)}: ${name}: ${says}`),
    ),
  );
}

/** @param judge what is wrong with a match and its groups; undefined: nothing */
function matches(
  text: string,
  sought: RegExp,
  judge: (found: string, ...groups: (string | undefined)[]) => string | undefined,
): Violation[] {
  return [...text.matchAll(sought)].flatMap((match) => {
    const says = judge(match[0], ...match.slice(1));
    return says === undefined ? [] : [{ at: match.index, says: says.replaceAll(new RegExp(GAP, 'g'), ' ') }];
  });
}

function pattern(source: string): RegExp {
  return new RegExp(source, 'gi');
}

/** A word and the numbers behind it: `specification 2.1, 2.2`, `decisions 0008 and 0009`. */
function listOf(word: string, number: string): RegExp {
  return pattern(String.raw`\b${word}${GAP}${number}\b(?:(?:,|${GAP}and)${GAP}${number}\b)*`);
}

function unknown(word: string, found: string, number: RegExp, known: readonly string[]): string | undefined {
  const missing = (found.match(number) ?? []).filter((each) => !known.includes(each));
  return missing.length === 0 ? undefined : `${word} ${missing.join(', ')}`;
}

function headings(document: string): string[] {
  return [...document.matchAll(/^#{1,6} +(.+?) *$/gm)].flatMap((match) => match[1] ?? []);
}

/** The text with blanks in place of what is no comment; of Markdown, all of it. */
function commentsOf({ path, text }: Cited): string {
  if (path.endsWith('.md')) return text;
  const begins = /\.(?:ts|js)$/.test(path) ? /^\s*(?:\*|\/[/*])|\s\/[/*]\s/ : /^\s*(?:--|#)|\s(?:--|#)\s/;
  return text
    .split('\n')
    .map((line) => {
      const at = begins.exec(line)?.index ?? line.length;
      return ' '.repeat(at) + line.slice(at);
    })
    .join('\n');
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}

describe('what comments and documents cite', () => {
  it('is in the repository', () => {
    const files = allText();
    expect(files.size).toBeGreaterThan(500);
    const judged = [...files].filter(([path]) => !LANDED.test(path));
    const cited = judged.map(([path, text]) => ({ path, text }));
    expect(brokenCitations(cited, { files, has })).toEqual([]);
  });
});

describe('a citation', () => {
  const repository: Repository = {
    files: new Map([
      ['docs/design/deletions.md', '# Absence\n\n## P1\n\n## Grace period\n'],
      ['docs/specification.md', '## 8. Limits\n\n### 8.1 Pages\n'],
      ['docs/decisions/0001-pinned-runtime.md', '# 0001\n'],
    ]),
    has: (path) => path === 'src/walk',
  };
  const broken = (text: string, path = 'src/a.ts'): string[] => brokenCitations([{ path, text }], repository);
  // Put together here, so that this file cites nothing by them.
  const glued = (...parts: string[]): string => parts.join('');
  const proof = (number: number): string => `P${number}`;
  const spec = (numbers: string): string => `specification ${numbers}`;
  const decision = (numbers: string): string => `decision ${numbers}`;
  const inDesign = (rest: string): string => `docs/design/${rest}`;
  const inSource = (rest: string): string => `src/${rest}`;

  it.each([
    glued('// design', ' 4'),
    glued('/** Pages\n * (design', '\n * 4) */'),
    glued('// unknowns', '.md'),
    glued('// sql-', 'rules 3'),
    glued('// contract', '.md'),
    glued('// style', '.md'),
    glued('// (contract', ', "HTTP")'),
    glued('// models', '/walk.py'),
  ])('of a document that nobody outside has is found: %j', (text) => {
    expect(broken(text)).toHaveLength(1);
    expect(broken(text)[0]).toMatch(/^src\/a\.ts:[12]: no document of the repository: /);
  });

  it.each([
    [`// ${inDesign('gone.md')}`, 'no such document or decision', inDesign('gone.md')],
    [`// ${decision('0001')}\n// ${decision('0002')}`, 'no such document or decision', decision('0002'), 2],
    [glued('// decisions 0001', ' and 0003'), 'no such document or decision', decision('0003')],
    [`// ${inDesign('deletions.md')}, "Brake"`, 'no such heading', `${inDesign('deletions.md')}, "Brake"`],
    [
      ` * ${inDesign('deletions.md')},\n * "Grace\n * time"`,
      'no such heading',
      `${inDesign('deletions.md')}, "Grace time"`,
    ],
    [`// ${spec('8.1, 8.2')}`, 'no such section of docs/specification.md', spec('8.2')],
    [` * ${spec('(section 9)')}`, 'no such section of docs/specification.md', spec('9')],
    [`\n// ${proof(2)}`, 'no such heading in docs/design/deletions.md', proof(2), 2],
    [`const a = 1; // ${inSource('gone.ts')}`, 'no such path', inSource('gone.ts')],
    [`// ${inSource('gone/*.ts')}`, 'no such path', inSource('gone/*.ts')],
  ])('that leads nowhere is found: %j', (text, problem, cited, line = 1) => {
    expect(broken(text)).toEqual([`src/a.ts:${line}: ${problem}: ${cited}`]);
  });

  it('in a document is found wherever it stands, with headings told from the document’s own folder', () => {
    const text = `see [there](deletions.md), “Brake” and ${inSource('gone.ts')}`;
    const path = inDesign('walks.md');
    expect(broken(text, path)).toEqual([
      `${path}:1: no such heading: ${inDesign('deletions.md')}, "Brake"`,
      `${path}:1: no such path: ${inSource('gone.ts')}`,
    ]);
  });

  it.each([
    `// ${inDesign('deletions.md')}, "Grace\n// period", ${proof(1)}, ${spec('8, 8.1')}, ${decision('0001')}`,
    `// \`${inDesign('deletions.md')}\`, "P1": ${inSource('walk')}, ${inSource('walk/*.ts')}`,
    "import { violations } from './support/sql-rules.ts';",
    `const path = '${inSource('gone.ts')}';`,
  ])('that leads somewhere, or is none, is left alone: %j', (text) => {
    expect(broken(text)).toEqual([]);
  });
});
