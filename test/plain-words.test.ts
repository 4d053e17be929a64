import { expect, it } from 'vitest';
import { sentences, sentencesIn, type Sentence } from '../build/sentences.ts';
import { textFiles } from './support/rules/source-files.ts';

/** Words by which readers knew a translation, or this house's own language. */
const FOREIGN = /\b(?:whoever|somebody|anew|besides|likewise|so many|beside (?:a|the) running|goes on|can't be had)\b/i;

const foreign = (all: readonly Sentence[]): string[] =>
  all.flatMap(({ place, text }) => {
    const found = FOREIGN.exec(text);
    return found === null ? [] : [`${place}: ${text.slice(Math.max(0, found.index - 40), found.index + 40)}`];
  });

it('the program speaks plain English', () => {
  const all = sentences();
  expect(all.length).toBeGreaterThan(1_500);
  expect(foreign(all)).toEqual([]);
});

it('the pages that users read are plain English', () => {
  const pages = textFiles(['docs'], /^docs\/(?:commands\/)?[^/]+\.md$/, /^(?:README|SECURITY|CHANGELOG)\.md$/);
  expect(pages.size).toBeGreaterThan(40);
  const lines = [...pages].flatMap(([path, text]) =>
    text.split('\n').map((line, index) => ({ place: `${path}:${index + 1}`, text: line })),
  );
  expect(foreign(lines)).toEqual([]);
});

it('a sentence is found in a literal, a template, a sum of them and within a template, and SQL is none', () => {
  const source = [
    "const a = 'two words';",
    'const b = `of ${name}, ${count === 1 ? "one row" : "many rows"}`;',
    "throw new Error('first half, ' +\n  `and ${second} half`);",
    'sql`select one from two`;',
    "import 'a b c';",
  ].join('\n');
  expect(sentencesIn('a.ts', source)).toEqual([
    { place: 'a.ts:1', text: 'two words' },
    { place: 'a.ts:2', text: 'of ${name}, ${count === 1 ? "one row" : "many rows"}' },
    { place: 'a.ts:2', text: 'one row' },
    { place: 'a.ts:2', text: 'many rows' },
    { place: 'a.ts:3', text: 'first half, and ${second} half' },
  ]);
});

it('a foreign word is found', () => {
  expect(foreign([{ place: 'a:1', text: 'Beside a running daemon the daemon does it' }])).toHaveLength(1);
});
