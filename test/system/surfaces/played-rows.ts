import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/rules/source-files.ts';

/** Cells of the rows of the table of docs/what-goes-wrong.md that has this number of columns. */
export function playedRows(columns: number): readonly (readonly string[])[] {
  return readFileSync(join(ROOT, 'docs/what-goes-wrong.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| what goes wrong |'))
    .map((line) => line.split('|').slice(1, -1))
    .filter((cells) => cells.length === columns)
    .map((cells) => cells.map((cell) => cell.trim()));
}
