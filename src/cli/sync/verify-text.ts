import type {
  Discrepancy,
  VerifiedCollection,
  VerifyProgress,
  VerifyReport,
} from '../../app/verify/run-verify.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { formatTable, printable } from '../terminal/text-table.ts';

/** Discrepancies of a collection that are printed for people; `--json` has more. */
const PRINTED = 20;
/** Differing fields of a row that are printed. */
const PRINTED_FIELDS = 5;

/** How far a verification is, in one line: sums over all accounts by collection. */
export function verifyingLine(progress: Iterable<VerifyProgress>): string {
  const sums = new Map<string, { items: number; unequal: number }>();
  for (const { collection, items, unequal } of progress) {
    const before = sums.get(collection) ?? { items: 0, unequal: 0 };
    sums.set(collection, { items: before.items + items, unequal: before.unequal + unequal });
  }
  const parts = [...sums].map(
    ([collection, { items, unequal }]) =>
      `${collection} ${formatCount(items)}${unequal > 0 ? ` (${formatCount(unequal)} to look at again)` : ''}`,
  );
  return `comparing: ${parts.length === 0 ? '…' : parts.join(' · ')}`;
}

export function describeVerification(report: VerifyReport, width: number | undefined): string {
  const some = report.collections.some(({ forgotten }) => forgotten > 0);
  const figures = [...COUNTED, ...(some ? ['forgotten'] : []), 'took'];
  const table = formatTable(
    [
      { title: 'account', align: 'right' },
      { title: 'collection', align: 'left' },
      ...figures.map((title) => ({ title, align: 'right' }) as const),
      { title: '', align: 'left' },
    ],
    report.collections.map((each) => [
      each.userId,
      each.collection,
      ...figuresOf(each, some),
      each.error ?? '',
    ]),
    width,
  );
  const requests = report.collections.reduce((sum, each) => sum + each.requests, 0);
  const rows = report.collections.map(describeRows).join('');
  return `${table}${rows}${countOf(requests, 'request')}; ${conclusion(report)}\n`;
}

const COUNTED = ['service', 'mirror', 'missing', 'extra', 'different', 'changed', 'quarantined'];

/** @param some whether any collection has forgotten rows: most mirrors have none */
function figuresOf(each: VerifiedCollection, some: boolean): string[] {
  const { items, rows, missing, extra, different, changed, quarantined, forgotten, milliseconds } = each;
  return [
    ...[items, rows, missing, extra, different, changed, quarantined].map(formatCount),
    ...(some ? [formatCount(forgotten)] : []),
    `${(milliseconds / 1000).toFixed(1)} s`,
  ];
}

function describeRows(verified: VerifiedCollection): string {
  const { collection, discrepancies, missing, extra, different, changed, readOnce } = verified;
  const lines = discrepancies.slice(0, PRINTED).map((each) => `${collection} ${describeRow(each)}`);
  const more = missing + extra + different + changed - lines.length;
  if (more > 0) lines.push(`${collection}: ${formatCount(more)} more (--json tells up to 1,000)`);
  if (readOnce > 0) lines.push(`${collection}: ${formatCount(readOnce)} of these were read only once`);
  return lines.length === 0 ? '' : `\n${lines.map((line) => `${printable(line)}\n`).join('')}\n`;
}

function describeRow({ kind, list, key, fields, note }: Discrepancy): string {
  const name = `${list === '' ? '' : `${list}/`}${key ?? '(no cursor ID)'}`;
  // Of a field that differs the hash differs too: it tells people something only where nothing else does.
  const legible = fields.filter((field) => field.name !== '_hash');
  const shown = legible.length > 0 ? legible : fields;
  const told = shown
    .slice(0, PRINTED_FIELDS)
    .map(({ name: field, source, mirror }) => `${field}: ${source ?? 'null'} ≠ ${mirror ?? 'null'}`);
  if (shown.length > told.length) told.push(countOf(shown.length - told.length, 'more field'));
  if (note !== '') told.push(note);
  return `${name} ${kind}: ${told.join('; ')}`;
}

function conclusion({ equal, collections, unknownKeys }: VerifyReport): string {
  const sum = (of: (each: VerifiedCollection) => number): number =>
    collections.reduce((total, each) => total + of(each), 0);
  const unlike = sum(({ missing, extra, different }) => missing + extra + different);
  const changed = sum((each) => each.changed);
  const open = changed === 0 ? '' : ` (${countOf(changed, 'row')} changed while reading: not judged)`;
  if (equal) return `the mirror equals the service${open}`;
  if (unlike > 0)
    return `${countOf(unlike, 'row')} differ${unlike === 1 ? 's' : ''} (service ≠ mirror)${open}`;
  const unread = collections.filter(({ error }) => error !== null).length + unknownKeys.length;
  return `no difference found, but ${unread} could not be read${open}`;
}
