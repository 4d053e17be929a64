import type { ReportedColumn } from '../../app/columns/column-report.ts';
import type { RetypeReport } from '../../app/columns/run-retype.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { formatTable, printable } from '../terminal/text-table.ts';

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
      : [`"columns retype ${of}.${column} ${suggestion.type} --dry-run" tries it\n`],
  );
  return `${table}${hints.join('')}`;
}

export function describeRetype({ table, column, from, to, tried, done }: RetypeReport): string {
  const what = printable(`${table}.${column}`);
  if (done !== null) {
    const rest =
      done.unfit === 0
        ? 'every value fits'
        : `${countOf(done.unfit, 'value')} ${done.unfit === 1 ? 'does' : 'do'} not fit: NULL in the column, whole in _raw`;
    return `${what} is ${to} now (it was ${from}): ${countOf(done.read, 'row')} and versions read again, ${rest}\n`;
  }
  if (tried === null) return '';
  const line = (count: FitCount, kind: string): string =>
    `${kind}: ${countOf(count.values, 'value')}, ${formatCount(count.values - count.unfit)} would fit, ` +
    `${formatCount(count.unfit)} would be NULL\n`;
  const examples = tried.examples.map(
    ({ userId, key, value }) =>
      `  ${printable(key === '' ? `account ${userId}` : `${table} ${key} of account ${userId}`)}: ${printable(value)}\n`,
  );
  const some = examples.length === 0 ? '' : `would not fit, for example:\n${examples.join('')}`;
  return `${what} from ${from} to ${to}; nothing was changed\n${line(tried.rows, 'rows')}${line(tried.versions, 'versions in history')}${some}`;
}

type FitCount = NonNullable<RetypeReport['tried']>['rows'];
