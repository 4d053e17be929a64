import type { ReportedColumn } from '../../app/columns/column-report.ts';
import type { TriedType } from '../../app/columns/set-column-type.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { shortened } from '../../model/status/report-words.ts';
import { formatTable, printable } from '../terminal/text-table.ts';

/** Characters of a value that are shown. */
const SHOWN = 60;

export function describeColumns(columns: readonly ReportedColumn[], width: number | undefined): string {
  const table = formatTable(
    [
      { title: 'column', align: 'left' },
      { title: 'type', align: 'left' },
      { title: 'field', align: 'left' },
      { title: 'since', align: 'left' },
      { title: 'did not fit', align: 'right' },
      { title: 'for example', align: 'left' },
      { title: 'instead', align: 'left' },
    ],
    columns.map(({ table: of, column, type, field, firstSeenAt, conflicts, example, suggestion }) => [
      column === null ? `${of} (in _raw)` : `${of}.${column}`,
      type,
      field,
      firstSeenAt.toISOString().slice(0, 10),
      conflicts === 0 ? '' : formatCount(conflicts),
      example ?? '',
      suggestion === null ? '' : `${suggestion.type} would take all ${formatCount(suggestion.values)}`,
    ]),
    width,
  );
  const hints = columns.flatMap(({ table: of, column, suggestion }) =>
    suggestion === null || column === null
      ? []
      : [`"columns set-type ${of}.${column} ${suggestion.type} --dry-run" tries it\n`],
  );
  return `${table}${hints.join('')}`;
}

/** What would not fit a type, and how much would be lost by that. @param table its name */
export function describeTried(table: string, column: string, type: string, tried: TriedType): string {
  const { values, lost } = tried;
  const unfit = [...tried.unfit.values()].reduce((sum, count) => sum + count, 0);
  const examples = tried.examples.map(
    ({ userId, key, value }) =>
      `  ${printable(`${table} ${key} of account ${userId}: ${shortened(value, SHOWN)}`)}\n`,
  );
  return (
    `${table}.${column} as ${type}: of ${countOf(values, 'value')}, history included, ${formatCount(unfit)} would ` +
    `not fit and be NULL (whole in _raw)\n${countOf(lost, 'value')} that the column has now would be lost from it` +
    `${lost === 0 ? '' : ', for example'}\n${examples.join('')}`
  );
}
