import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, textFiles } from './support/rules/source-files.ts';

const FOLDERS = ['src', 'test', 'bench', 'build', 'bin', 'docs', 'packages', 'docker', 'migrations'];
/**
 * Not judged: migrations are never edited once they have landed, so that their comments cite what was there then; and
 * the examples of this file.
 */
const LEFT_ALONE = /^migrations\/00(?:[0-2]\d|3[0-8])_|^test\/citations\.test\.ts$/;

/** What citations may lead to. Paths are from the root of the checkout, with forward slashes. */
interface Repository {
  readonly files: ReadonlyMap<string, string>;
  /** Whether there is such a file or folder. */
  readonly has: (path: string) => boolean;
}

interface Rule {
  readonly name: string;
  readonly sought: RegExp;
  /** Whether it looks at comments and documents only, not at code. */
  readonly inComments?: boolean;
  /** What is wrong with what was found and its groups; undefined: nothing. @param path of the file that cites */
  readonly wrong: (found: readonly (string | undefined)[], repository: Repository, path: string) => string | undefined;
}

/** Between two words, also where a comment goes on in its next line. */
const GAP = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:\*|//|--|#)?[ \t]*)`;
const DELETIONS = 'docs/design/deletions.md';
const SPECIFICATION = 'docs/specification.md';

const RULES: readonly Rule[] = [
  {
    name: 'no document of the repository',
    // Of `sql-rules`, a file of this name has the rules in code.
    sought: pattern(
      String.raw`\bdesign${GAP}\d+\b|(?<![\w-])(?:design|unknowns|contract|style)\.md|\bsql-rules(?!\.ts)`,
      String.raw`\bcontract,?${GAP}"[^"]+"|(?<![\w/-])models/[\w.-]*\w`,
    ),
    wrong: ([found]) => found,
  },
  {
    name: 'no such document or decision',
    sought: /(?<![\w./-])docs\/[\w./-]+\.md/g,
    wrong: ([path = ''], { files }) => (files.has(path) ? undefined : path),
  },
  {
    name: 'no such document or decision',
    sought: listOf(String.raw`decisions?(?:${GAP}records?)?`, String.raw`\d{4}`),
    wrong: ([found = ''], { files }) => {
      const known = [...files.keys()].flatMap((path) => /^docs\/decisions\/(\d{4})-/.exec(path)?.[1] ?? []);
      return unknown('decision', found, /\d{4}/g, known);
    },
  },
  {
    name: 'no such heading',
    sought: pattern(String.raw`(?:(?<![\w./-])(docs/[\w./-]+\.md)\`?|\]\(([\w./-]+\.md)\)),${GAP}["“]([^"”]+)["”]`),
    wrong: ([, fromRoot, fromHere = '', quoted = ''], { files }, path) => {
      const target = fromRoot ?? posix.join(posix.dirname(path), fromHere);
      const document = files.get(target);
      const there = document === undefined || headings(document).includes(inOneLine(quoted));
      return there ? undefined : `${target}, "${quoted}"`;
    },
  },
  {
    name: `no such section of ${SPECIFICATION}`,
    sought: listOf(String.raw`specification(?:,?${GAP}\(?sections?)?`, String.raw`\d+(?:\.\d+)?`),
    wrong: ([found = ''], { files }) => {
      const known = headings(files.get(SPECIFICATION)).flatMap((each) => /^\d+(?:\.\d+)?/.exec(each) ?? []);
      return unknown('specification', found, /\d+(?:\.\d+)?/g, known);
    },
  },
  {
    name: `no such heading in ${DELETIONS}`,
    sought: /\bP[012]\b/g,
    wrong: ([proof = ''], { files }) => (headings(files.get(DELETIONS)).includes(proof) ? undefined : proof),
  },
  {
    name: 'no such path',
    sought: /(?<![\w./@-])(?:src|test|bench)\/[\w./*-]*[\w*]/g,
    inComments: true,
    // Of a pattern, the folder in which it begins.
    wrong: ([path = ''], { has }) => (has(path.replace(/\/[^/]*\*.*/s, '')) ? undefined : path),
  },
];

/** One line for each citation that leads nowhere: `file:line: what is wrong: the citation`. */
function brokenCitations(path: string, text: string, repository: Repository): string[] {
  return RULES.flatMap(({ name, sought, inComments = false, wrong }) =>
    [...(inComments ? commentsOf(path, text) : text).matchAll(sought)].flatMap((match) => {
      const says = wrong(match, repository, path);
      const line = text.slice(0, match.index).split('\n').length;
      return says === undefined ? [] : [`${path}:${line}: ${name}: ${inOneLine(says)}`];
    }),
  );
}

function pattern(...alternatives: readonly string[]): RegExp {
  return new RegExp(alternatives.join('|'), 'gi');
}

/** A word and the numbers behind it: `specification 2.1, 2.2`, `decisions 0008 and 0009`. */
function listOf(word: string, number: string): RegExp {
  return pattern(String.raw`\b${word}${GAP}${number}\b(?:(?:,|${GAP}and)${GAP}${number}\b)*`);
}

function inOneLine(text: string): string {
  return text.replaceAll(new RegExp(GAP, 'g'), ' ');
}

function unknown(word: string, found: string, number: RegExp, known: readonly string[]): string | undefined {
  const missing = (found.match(number) ?? []).filter((each) => !known.includes(each));
  return missing.length === 0 ? undefined : `${word} ${missing.join(', ')}`;
}

function headings(document = ''): string[] {
  return [...document.matchAll(/^#{1,6} +(.+?) *$/gm)].flatMap((match) => match[1] ?? []);
}

/** The text with blanks in place of what is no comment; of Markdown, all of it. */
function commentsOf(path: string, text: string): string {
  if (path.endsWith('.md')) return text;
  const begins = /\.(?:ts|js)$/.test(path) ? /^\s*(?:\*|\/[/*])|\s\/[/*]\s/ : /^\s*(?:--|#)|\s(?:--|#)\s/;
  const comments = text.split('\n').map((line) => {
    const at = begins.exec(line)?.index ?? line.length;
    return ' '.repeat(at) + line.slice(at);
  });
  return comments.join('\n');
}

it('what comments and documents cite is in the repository', () => {
  const files = textFiles(FOLDERS, /\.(?:ts|js|md|sql|ya?ml|sh|json)$/, /\.md$|\.config\.ts$|^docker-compose\.yml$/);
  expect(files.size).toBeGreaterThan(500);
  const repository = { files, has: (path: string) => existsSync(join(ROOT, path)) };
  const broken = [...files].flatMap(([path, text]) =>
    LEFT_ALONE.test(path) ? [] : brokenCitations(path, text, repository),
  );
  expect(broken).toEqual([]);
});

const repository: Repository = {
  files: new Map([
    ['docs/design/deletions.md', '# Absence\n\n## P1\n\n## Grace period\n'],
    ['docs/specification.md', '## 8. Limits\n\n### 8.1 Pages\n'],
    ['docs/decisions/0001-pinned-runtime.md', '# 0001\n'],
  ]),
  has: (path) => path === 'src/walk',
};

it.each([
  ['// design 4', 'src/a.ts:1: no document of the repository: design 4'],
  ['/** Pages\n * (design\n * 4) */', 'src/a.ts:2: no document of the repository: design 4'],
  ['// unknowns.md', 'src/a.ts:1: no document of the repository: unknowns.md'],
  ['// sql-rules 3', 'src/a.ts:1: no document of the repository: sql-rules'],
  ['// (contract, "HTTP")', 'src/a.ts:1: no document of the repository: contract, "HTTP"'],
  ['// models/walk.py', 'src/a.ts:1: no document of the repository: models/walk.py'],
  ['// docs/design/gone.md', 'src/a.ts:1: no such document or decision: docs/design/gone.md'],
  ['// decision 0001\n// decision 0002', 'src/a.ts:2: no such document or decision: decision 0002'],
  ['// decisions 0001 and 0003', 'src/a.ts:1: no such document or decision: decision 0003'],
  [
    ' * docs/design/deletions.md,\n * "Grace\n * time"',
    'src/a.ts:1: no such heading: docs/design/deletions.md, "Grace time"',
  ],
  ['// specification 8.1, 8.2', 'src/a.ts:1: no such section of docs/specification.md: specification 8.2'],
  [' * specification (section 9)', 'src/a.ts:1: no such section of docs/specification.md: specification 9'],
  ['\n// P2', 'src/a.ts:2: no such heading in docs/design/deletions.md: P2'],
  ['const a = 1; // src/gone.ts', 'src/a.ts:1: no such path: src/gone.ts'],
  ['// src/gone/*.ts', 'src/a.ts:1: no such path: src/gone/*.ts'],
])('a citation that leads nowhere is found: %j', (text, found) => {
  expect(brokenCitations('src/a.ts', text, repository)).toEqual([found]);
});

it('a citation in a document is found wherever it stands, with headings told from the document’s own folder', () => {
  const text = 'see [there](deletions.md), “Brake” and src/gone.ts';
  expect(brokenCitations('docs/design/walks.md', text, repository)).toEqual([
    'docs/design/walks.md:1: no such heading: docs/design/deletions.md, "Brake"',
    'docs/design/walks.md:1: no such path: src/gone.ts',
  ]);
});

it.each([
  '// docs/design/deletions.md, "Grace\n// period", P1, specification 8, 8.1, decision 0001',
  '// `docs/design/deletions.md`, "P1": src/walk, src/walk/*.ts',
  "import { violations } from './support/sql-rules.ts';",
  "const path = 'src/gone.ts';",
])('a citation that leads somewhere, or is none, is left alone: %j', (text) => {
  expect(brokenCitations('src/a.ts', text, repository)).toEqual([]);
});
