import type { ForgottenRow } from '../../app/forget/forget-rows.ts';
import type { RecordedRow } from '../../app/forget/recorded-rows.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { formatTable, printable } from '../terminal/text-table.ts';

/** One line for each row. @param table its name @param dryRun nothing went */
export function describeForgotten(table: string, rows: readonly ForgottenRow[], dryRun: boolean): string {
  return rows.map((row) => `${describeRow(table, row, dryRun)}\n`).join('');
}

function describeRow(table: string, row: ForgottenRow, dryRun: boolean): string {
  const name = printable(`${table} ${row.parent === '' ? '' : `${row.parent}:`}${row.key}`);
  if (row.unknown) return `${name}: nothing of it is here; nothing is recorded`;
  const parts = [
    countOf(row.rows, 'row'),
    countOf(row.versions, 'version'),
    countOf(row.events, 'event'),
    `${countOf(row.quarantined, 'item')} in quarantine`,
    countOf(row.submissions, 'submission'),
  ];
  const rest = row.already ? 'it was forgotten before' : 'it is not mirrored again';
  return `${name}: ${parts.join(', ')} ${dryRun ? 'would be' : 'were'} erased; ${rest}`;
}

export function describeRecorded(recorded: readonly RecordedRow[], width: number | undefined): string {
  if (recorded.length === 0) return 'nothing is forgotten\n';
  const table = formatTable(
    [
      { title: 'account', align: 'right' },
      { title: 'table', align: 'left' },
      { title: 'key’s hash', align: 'left' },
      { title: 'forgotten at', align: 'left' },
    ],
    recorded.map(({ userId, collection, keyHash, forgottenAt }) => [
      userId,
      collection,
      keyHash.slice(0, 16),
      forgottenAt.toISOString(),
    ]),
    width,
  );
  return `${table}${countOf(recorded.length, 'row')}\n`;
}
