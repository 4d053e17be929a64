import { countOf, formatCount, formatSpan } from '@research-mirror/runtime/figures';
import { randomInt } from 'node:crypto';
import { readCount } from '../terminal/given.ts';
import { EXIT, type Options, type Shell } from '../terminal/shell.ts';
import { printable } from '../terminal/text-table.ts';
import { passTable, showPass } from './sync.ts';
import { runVerify, type VerifyReport } from './verify-account.ts';
import type { Discrepancy, VerifiedCollection, VerifyProgress } from './verify-scope.ts';

/** Most rows of a sample: reading all is as fast as reading more. */
const MOST_SAMPLED = 10_000;
/** Discrepancies of a collection printed for people; `--json` has more. */
const PRINTED = 20;
const PRINTED_FIELDS = 5;

export async function verifyAction(shell: Shell, names: string[], options: Options<'json' | 'demo', 'sample'>) {
  const { sample: size } = options;
  const sample =
    size === undefined ? null : { rows: readCount('--sample', size, MOST_SAMPLED), seed: randomInt(2 ** 31) };
  const report = await showPass(
    shell,
    names,
    options,
    (config, run, collections) => runVerify(config, run, { collections, sample }),
    verifyingLine,
    describeVerification,
  );
  if (report.equal) return EXIT.DONE;
  // A difference is certain, whatever could not be read.
  return unlikeIn(report) > 0 ? EXIT.NO : EXIT.FAILED;
}

function unlikeIn({ collections }: VerifyReport): number {
  return sumOf(collections, 'missing', 'extra', 'different');
}

/** Expected duration and progress in one line: sums over all accounts, by collection. */
function verifyingLine(progress: Iterable<VerifyProgress>): string {
  const items = new Map<string, number>();
  let [requests, seconds] = [0, 0];
  for (const each of progress) {
    items.set(each.collection, (items.get(each.collection) ?? 0) + each.items);
    requests += each.estimate?.requests ?? 0;
    seconds += each.estimate?.seconds ?? 0;
  }
  if (items.size === 0) return 'comparing: …';
  const span = seconds < 60 ? 'less than a minute' : `about ${formatSpan(seconds * 1000)}`;
  const parts = [...items].map(([collection, count]) => `${collection} ${formatCount(count)}`);
  return `comparing, about ${countOf(requests, 'request')}, at best ${span}: ${parts.join(' · ')}`;
}

export function describeVerification(report: VerifyReport, width: number | undefined): string {
  const { collections } = report;
  // Most mirrors have no forgotten rows.
  const figures = FIGURES.filter(([, of]) => of !== 'forgotten' || sumOf(collections, of) > 0);
  const lines = collections.flatMap(describeRows).map((line) => `${printable(line)}\n`);
  const rows = lines.length === 0 ? '' : `\n${lines.join('')}\n`;
  const requests = countOf(sumOf(collections, 'requests'), 'request');
  return `${passTable(collections, figures, width)}${rows}${requests}; ${conclusion(report)}\n`;
}

const FIGURES = [
  ['service', 'items'],
  ['mirror', 'rows'],
  ['missing', 'missing'],
  ['extra', 'extra'],
  ['different', 'different'],
  ['changed', 'changed'],
  ['quarantined', 'quarantined'],
  ['forgotten', 'forgotten'],
] as const;

type Counted = (typeof FIGURES)[number][1] | 'requests';

function sumOf(collections: readonly VerifiedCollection[], ...counted: readonly Counted[]): number {
  return collections.reduce((sum, each) => counted.reduce((all, of) => all + each[of], sum), 0);
}

function describeRows(verified: VerifiedCollection): string[] {
  const { collection, discrepancies, missing, extra, different, changed, readOnce } = verified;
  const lines = discrepancies.slice(0, PRINTED).map((each) => `${collection} ${describeRow(each)}`);
  const more = missing + extra + different + changed - lines.length;
  if (more > 0) lines.push(`${collection}: ${formatCount(more)} more (--json lists up to 1,000)`);
  if (readOnce > 0) lines.push(`${collection}: ${formatCount(readOnce)} of these were read only once`);
  return lines;
}

function describeRow({ kind, list, key, fields, note }: Discrepancy): string {
  const name = `${list === '' ? '' : `${list}/`}${key ?? '(no cursor ID)'}`;
  // The hash differs whenever a field does, so it is shown only by itself.
  const legible = fields.filter((field) => field.name !== '_hash');
  const shown = legible.length > 0 ? legible : fields;
  const told = shown
    .slice(0, PRINTED_FIELDS)
    .map(({ name: field, source, mirror }) => `${field}: ${source ?? 'null'} ≠ ${mirror ?? 'null'}`);
  if (shown.length > told.length) told.push(countOf(shown.length - told.length, 'more field'));
  if (note !== '') told.push(note);
  return `${name} ${kind}: ${told.join('; ')}`;
}

function conclusion(report: VerifyReport): string {
  const { equal, collections, unknownKeys } = report;
  const unlike = unlikeIn(report);
  const changed = sumOf(collections, 'changed');
  const unread = collections.filter(({ error }) => error !== null).length + unknownKeys.length;
  const sampled = collections.filter(({ sample }) => typeof sample === 'number');
  let said = `no difference found, but ${unread} could not be read`;
  if (unlike > 0) said = `${countOf(unlike, 'row')} differ${unlike === 1 ? 's' : ''} (service ≠ mirror)`;
  else if (equal) said = sampled.length > 0 ? 'no difference in the sample' : 'the mirror equals the service';
  const quarantined = sumOf(collections, 'quarantined');
  if (equal && quarantined > 0) said += `, except for ${countOf(quarantined, 'quarantined item')}`;
  if (changed > 0) said += ` (${countOf(changed, 'row')} changed while being read: not judged)`;
  if (sampled.length === 0) return said;
  const compared = `${formatCount(sumOf(sampled, 'items'))} of about ${countOf(sumOf(sampled, 'rows'), 'row')}`;
  return (
    `${said}\nThis was a sample: ${compared} were compared. It says nothing about the others, or about rows that the ` +
    'mirror lacks elsewhere. Without --sample, all are compared.'
  );
}
