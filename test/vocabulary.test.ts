import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, sourceFiles } from './support/rules/source-files.ts';
import { exportedTwice, retiredProse, retiredWords, tokens } from './support/rules/vocabulary.ts';

/** Words that readers of ARCHITECTURE.md are asked to learn, at most. */
const MOST_WORDS = 25;

/** Names that users and stored data know: tables, columns, JSON fields, options, metrics. They stay as they are. */
const PUBLIC = new Set(
  [
    'MIRROR_SETTLE held heldDeletions held_deletions held_at held_why candidate unsettled doubt doubts',
    'submissions_held submissions_on_hold',
    // A database that may be a copy puts its submissions on hold.
    'Hold hold HoldRow HoldStatus holdFor currentHold readHold onHold ON_HOLD',
    // Of a JavaScript promise.
    'allSettled settled promise promises',
  ].flatMap((names) => names.split(' ')),
);
/** Types of what SQL calls its columns. */
const SQL_NAMES = /-tables\.ts$/;

const files = ['src', 'packages', 'test', 'bench', 'build'].flatMap((folder) => sourceFiles(folder));
const production = files.filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'));

describe('the vocabulary', () => {
  it('has no word more in its glossary than one can learn in a minute', () => {
    const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    const glossary = /^## Glossary\n([\s\S]*?)(?=^## )/m.exec(text)?.[1] ?? '';
    const words = glossary.split('\n').filter((line) => /^\| (?!word|---)/.test(line));
    expect(words.length).toBeGreaterThan(0);
    expect(words.length).toBeLessThanOrEqual(MOST_WORDS);
  });

  it('uses no retired word', () => {
    const found = files
      .filter(({ path }) => !SQL_NAMES.test(path) && !path.includes('rules/vocabulary'))
      .flatMap((file) => retiredWords(file, (identifier) => PUBLIC.has(identifier)));
    expect(found.map(({ place, word, instead }) => `${place}: "${word}" (rather: ${instead})`)).toEqual([]);
  });

  it('is that of the documents for developers, too', () => {
    const folder = join(ROOT, 'docs/design');
    const documents = ['../../ARCHITECTURE.md', ...readdirSync(folder)].map((name) => ({
      path: name,
      text: readFileSync(join(folder, name), 'utf8'),
    }));
    const found = documents.flatMap((document) => retiredProse(document));
    expect(found.map(({ place, word, instead }) => `${place}: "${word}" (rather: ${instead})`)).toEqual([]);
  });

  it('finds words in code and comments, and none in strings', () => {
    const text =
      "const heldBy = 'a toll'; // settle time\nconst q = sql`candidate ${doubts.of({ a })} doubt`;";
    const found = retiredWords({ path: 'x.ts', text }, () => false);
    expect(found.map(({ place, word }) => `${place} ${word}`)).toEqual([
      'x.ts:1 heldBy',
      'x.ts:1 settle time',
      'x.ts:2 doubts',
    ]);
    expect(tokens('`a ${b} c` + d').map((token) => token.text)).toEqual(['b', 'd']);
  });

  it('gives a bag of what functions need the ending Context', () => {
    const bags = production.flatMap(({ path, text }) =>
      [...text.matchAll(/^export (?:interface|type) (\w+Parts)\b/gm)].map(
        (match) => `${path}: ${match[1] ?? ''}`,
      ),
    );
    expect(bags).toEqual([]);
  });

  it('has each exported name, and each file name, once', () => {
    expect([...exportedTwice(production)]).toEqual([]);
    const names = production.map(({ path }) => basename(path));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
