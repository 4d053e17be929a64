import type { IndexOutcome } from '../../app/indexes/index-work.ts';
import type { IndexState, ReportedIndex } from '../../app/indexes/index-report.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import { formatTable } from '../terminal/text-table.ts';

const PURPOSES: Readonly<Record<NonNullable<ReportedIndex['purpose']>, string>> = {
  key: 'where _key = …, joins of BI tools by _key',
  list: 'the items of a list by _list_key',
  domain: 'where _domain = …, what is known of a company',
  status: 'where status = …, rows by state',
  created: 'newest first, ranges of time',
  changed: 'what changed since a moment',
};

const STATES: Readonly<Record<IndexState, string>> = {
  kept: 'there',
  missing: 'missing: the daemon makes it',
  broken: 'broken off: the daemon makes it anew',
  building: 'being made',
  waiting: 'waits for its column',
  suggested: 'suggested',
  covered: 'covered by another',
  other: 'other',
};

/** A table for people: optional indexes first, then those that this program leaves alone. */
export function describeIndexes(indexes: readonly ReportedIndex[], width: number | undefined): string {
  const rank = ({ state }: ReportedIndex): number => (state === 'other' ? 1 : 0);
  const table = formatTable(
    [
      { title: 'index', align: 'left' },
      { title: 'state', align: 'left' },
      { title: 'size', align: 'right' },
      { title: 'scans', align: 'right' },
      { title: 'for', align: 'left' },
    ],
    indexes
      .toSorted((one, other) => rank(one) - rank(other))
      .map((each) => [
        each.name,
        each.coveredBy === null ? STATES[each.state] : `covered by ${each.coveredBy}`,
        each.bytes === null
          ? each.expectedBytes === null
            ? ''
            : `~${sizeText(each.expectedBytes)}`
          : sizeText(each.bytes),
        each.scans === null ? '' : formatCount(each.scans),
        each.purpose === null || each.state === 'other' ? (each.over ?? '') : PURPOSES[each.purpose],
      ]),
    width,
  );
  const open = indexes.filter(({ state }) => state === 'suggested').length;
  const hint = open === 0 ? '' : '"indexes create NAME…" or "indexes create --all" makes what is suggested\n';
  return `${table}${hint}`;
}

const OUTCOMES: Readonly<Record<Exclude<IndexOutcome['outcome'], 'failed'>, string>> = {
  made: 'made',
  dropped: 'dropped',
  there: 'there already',
  waiting: 'its column is not there yet: the daemon makes it when it comes',
  busy: 'something else makes an index of the table now, or vacuums it: the daemon makes it later, or create again',
  covered: 'another index does the same: "indexes list" names it',
  taken: 'an index of that name is somebody else’s: left alone',
  unknown: 'there is none that "indexes create" made',
};

export function outcomeLine({ name, outcome, error }: IndexOutcome): string {
  return `${name}: ${outcome === 'failed' ? `failed: ${error ?? ''}` : OUTCOMES[outcome]}\n`;
}

/** `12 kB`, `3.4 MB`: as PostgreSQL's pg_size_pretty counts, in powers of 1,024. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
