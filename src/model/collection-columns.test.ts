import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { COLLECTION_COLUMNS } from './collection-columns.ts';

const DOCUMENT = new URL('../../docs/tables.md', import.meta.url);

it.each(COLLECTION_COLUMNS)('docs/tables.md describes the column $column of its view', async ({ column }) => {
  const lines = (await readFile(DOCUMENT, 'utf8')).split('\n');
  const views = lines.filter((line) => /^\| `(freshness|data_quality)` \|/.test(line));
  expect(views.filter((line) => line.includes(`\`${column}\``))).toHaveLength(1);
});
