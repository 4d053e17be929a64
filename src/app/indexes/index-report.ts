import {
  type IndexPurpose,
  type OptionalIndex,
  optionalIndexes,
} from '../../mirror/indexes/optional-index.ts';
import type { IndexedTable, StoredIndex } from '../../mirror/indexes/stored-indexes.ts';
import type { WantedIndexes } from '../../mirror/indexes/wanted-indexes.ts';

/**
 * What becomes of an index:
 * - `kept`: it is wanted, and there
 * - `missing`: it is wanted, and the daemon makes it: it was lost, or its column has come
 * - `broken`: it is wanted, and making it was broken off; it is made anew
 * - `building`: somebody makes it at this moment
 * - `waiting`: it is wanted; its column is not there yet
 * - `suggested`: nobody asked for it
 * - `covered`: suggested, but another index does the same
 * - `other`: the mirror's own, or somebody else's: this program leaves it alone
 */
export type IndexState =
  | 'kept'
  | 'missing'
  | 'broken'
  | 'building'
  | 'waiting'
  | 'suggested'
  | 'covered'
  | 'other';

/** An index of a data table: one that is there, or an optional one that may be. */
export interface ReportedIndex {
  readonly name: string;
  readonly table: string;
  readonly state: IndexState;
  /** Its column, or its statement where this program has not made it; null while its column is not there. */
  readonly over: string | null;
  /** What it is for; null where it is somebody else's. */
  readonly purpose: IndexPurpose | null;
  /** Null where it is not there. */
  readonly bytes: number | null;
  /** What it would take, by the rows that there are; null where it is there. */
  readonly expectedBytes: number | null;
  /** How often it was used; null where it is not there. */
  readonly scans: number | null;
  /** The index that does the same. */
  readonly coveredBy: string | null;
}

/** Bytes a row, as `node bench/mirror/indexes.ts` measured them (docs/operations.md, "Optional indexes"). */
const BYTES_PER_ROW: Readonly<Record<IndexPurpose, number>> = {
  key: 40,
  list: 8,
  domain: 40,
  status: 7,
  created: 23,
  changed: 8,
};

/** An optional index, with what is stored under its name. */
export interface JudgedIndex extends ReportedIndex {
  /** Undefined for what this program may not make. */
  readonly optional: OptionalIndex | undefined;
}

/** Judges every index that is there, wanted or suggested. Pure. */
export function judgeIndexes(tables: readonly IndexedTable[], wanted: WantedIndexes): readonly JudgedIndex[] {
  const present = tables.flatMap((each) => judgeTable(each, wanted));
  const names = new Set(present.map(({ name }) => name));
  const waiting = [...wanted.names].filter((name) => !names.has(name));
  return [...present, ...waiting.map(waitingIndex)];
}

function judgeTable(
  { table, columns, rows, indexes }: IndexedTable,
  wanted: WantedIndexes,
): readonly JudgedIndex[] {
  const found = optionalIndexes(table, columns).map((optional): JudgedIndex => {
    const stored = indexes.find(({ name }) => name === optional.name);
    const coveredBy = indexes.find(
      (each) =>
        each.valid && each.name !== optional.name && (isMadeAs(each, optional) || serves(each, optional)),
    )?.name;
    const state = stateOf(optional, stored, coveredBy, wanted);
    return {
      name: optional.name,
      table: table.name,
      state,
      over: state === 'other' ? (stored?.definition ?? null) : optional.column,
      purpose: optional.purpose,
      bytes: stored?.bytes ?? null,
      expectedBytes: stored === undefined ? rows * BYTES_PER_ROW[optional.purpose] : null,
      scans: stored?.scans ?? null,
      coveredBy: state === 'covered' ? (coveredBy ?? null) : null,
      optional,
    };
  });
  const ours = new Set(found.map(({ name }) => name));
  const others = indexes.filter(({ name }) => !ours.has(name));
  return [
    ...found,
    ...others.map(({ name, definition, bytes, scans }): JudgedIndex => ({
      name,
      table: table.name,
      state: 'other',
      over: definition,
      purpose: null,
      bytes,
      expectedBytes: null,
      scans,
      coveredBy: null,
      optional: undefined,
    })),
  ];
}

function stateOf(
  { name, printed }: OptionalIndex,
  stored: StoredIndex | undefined,
  coveredBy: string | undefined,
  { all, names, without }: WantedIndexes,
): IndexState {
  if (stored !== undefined) {
    // What was there before anybody asked for it, and what was made anew by hand, is somebody else's.
    if (!names.has(name) || !isMadeAs(stored, { printed })) return 'other';
    if (stored.building) return 'building';
    return stored.valid ? 'kept' : 'broken';
  }
  if (names.has(name)) return 'missing';
  if (coveredBy !== undefined) return 'covered';
  return all && !without.has(name) ? 'missing' : 'suggested';
}

function isMadeAs({ plain, over }: StoredIndex, { printed }: Pick<OptionalIndex, 'printed'>): boolean {
  return plain && over === printed;
}

/**
 * The index behind the view companies (migration 14) finds a domain's live rows, in any account: companies are few in
 * each, and PostgreSQL 18 skips from account to account. Another one would cost each write for the deleted rows alone.
 */
function serves({ definition }: StoredIndex, { purpose }: OptionalIndex): boolean {
  return purpose === 'domain' && COMPANIES_INDEX.test(definition);
}

const COMPANIES_INDEX =
  / USING btree \(_user_id, _domain(?:, \w+)?\) WHERE \(\(_deleted_at IS NULL\) AND \(_domain IS NOT NULL\)\)$/;

function waitingIndex(name: string): JudgedIndex {
  return {
    name,
    table: name.slice(0, name.indexOf('_by_')),
    state: 'waiting',
    over: null,
    purpose: null,
    bytes: null,
    expectedBytes: null,
    scans: null,
    coveredBy: null,
    optional: undefined,
  };
}
