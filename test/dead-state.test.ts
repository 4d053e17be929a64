import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, sourceFiles } from './support/rules/source-files.ts';

/** Files that name tables and columns and read none. */
const NO_READERS = /^src\/postgres\/(?:tables|clock-step)\.ts$/;
/** What reads: the program's sources without comments; views and functions of the schema. */
function readers(): string[] {
  const schema = readFileSync(join(ROOT, 'migrations/schema.sql'), 'utf8');
  const sources = sourceFiles('src')
    .filter(({ path }) => !path.endsWith('.test.ts') && !NO_READERS.test(path))
    .map(({ text }) => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''));
  return [...sources, ...schema.split('\n\n').filter((part) => /^create (?:view|or replace function)/i.test(part))];
}

/** Tables and columns of `<schema>_sync` that no source, view or function names together. */
function unread(objects: string, all: readonly string[]): string[] {
  const word = (name: string): RegExp => new RegExp(String.raw`\b${name}\b`);
  return [...objects.matchAll(/^column \{schema\}_sync\.(\w+)\.(\w+) /gm)].flatMap(([, table = '', column = '']) =>
    all.some((text) => word(table).test(text) && word(column).test(text)) ? [] : [`${table}.${column}`],
  );
}

it('each column of the daemon’s own state is named by a source that names its table: what is not, a migration drops', () => {
  const objects = readFileSync(join(ROOT, 'migrations/objects.txt'), 'utf8');
  const dropped = ['scope.dropped', 'dropped.parent'];
  const added = dropped.map((each) => `column {schema}_sync.${each} text\n`).join('');
  expect(unread(`${objects}\n${added}`, readers())).toEqual(dropped);
  expect(sourceFiles('src').filter(({ path }) => NO_READERS.test(path))).toHaveLength(2);
});
