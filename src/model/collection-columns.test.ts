import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { COLLECTION_COLUMNS } from './collection-columns.ts';

const DOCUMENT = new URL('../../docs/tables.md', import.meta.url);

it.each(COLLECTION_COLUMNS)(
  'docs/tables.md describes the column $column of $view',
  async ({ column, view }) => {
    const lines = (await readFile(DOCUMENT, 'utf8')).split('\n');
    expect(lines.find((line) => line.startsWith(`| \`${view}\` |`))).toContain(`\`${column}\``);
  },
);
