import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { COLLECTION_COLUMNS } from './collection-columns.ts';

const DOCUMENT = new URL('../../docs/mirror-tables.md', import.meta.url);

it.each(COLLECTION_COLUMNS)('docs/mirror-tables.md describes the column $column of its view', async ({ column }) => {
  const tables = (await readFile(DOCUMENT, 'utf8')).split(/\n\n/);
  const views = tables.filter((table) => /^\| column of `(?:freshness|data_quality)` \|/.test(table));
  const names = views.flatMap((table) => table.split('\n').map((line) => line.split(' | ', 1)[0] ?? ''));
  expect(names.filter((name) => name.includes(`\`${column}\``))).toHaveLength(1);
});
