import { posix } from 'node:path';

/** What citations may lead to. Paths are from the root of the checkout, with forward slashes. */
export interface Repository {
  readonly files: ReadonlyMap<string, string>;
  /** Whether there is such a file or folder. */
  readonly has: (path: string) => boolean;
}

/** A text in which citations are looked for. */
export interface Cited {
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
export function brokenCitations(all: readonly Cited[], repository: Repository): string[] {
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
