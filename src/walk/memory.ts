import { isDeepStrictEqual } from 'node:util';
import type { KeyType } from '../model/collections.ts';
import { compareKeys } from '../model/key.ts';
import { type Frontier, type OpenPart, OVERLAP } from './frontier.ts';
import { askedAfter, FIRST_LIMIT, type PageLimit, type Reading } from './reading.ts';
import type { WholeWalk } from './whole-walk.ts';

/**
 * The specification does not define the order of a list, so evidence decides (docs/design/walks.md, "Order is
 * evidence"):
 * - `usable`: polls may stop at the frontier and refreshes may jump. A mistake costs delay until the next full walk.
 * - `trusted`: a page also proves absent what its interval lacks (docs/design/deletions.md, "P1").
 */
export type OrderGrade = 'none' | 'usable' | 'trusted';

/** Direction of the keys from the top of the list to its end. */
export type ListDirection = 'falling' | 'rising';

export interface OrderEvidence {
  /** Direction of the rows seen so far; null before the second row and after a contradiction. */
  readonly direction: ListDirection | null;
  /** Longest run of distinct rows that one walk saw in key order, across pages; capped at what is needed. */
  readonly inOrder: number;
  /** Changed rows seen in key order between unchanged neighbours; capped at what is needed. */
  readonly inPlace: number;
  /** The last page began at the top despite a cursor, or its cursor's row moved there: no trust. */
  readonly fromStart: boolean;
  /** A contradiction since the last clean complete walk began. */
  readonly doubt: boolean;
  /** A contradiction since the running full walk began. */
  readonly contradicted: boolean;
}

/** Evidence needed for an order. */
export const EVIDENCE_NEEDED = {
  /** Distinct rows in key order for a usable one. */
  inOrder: 20,
  /** Changed rows in place for a trusted one: a list sorted by last update or score moves them. */
  inPlace: 3,
};

export const NO_EVIDENCE: OrderEvidence = {
  direction: null,
  inOrder: 0,
  inPlace: 0,
  fromStart: false,
  doubt: false,
  contradicted: false,
};

const CONTRADICTED: OrderEvidence = { ...NO_EVIDENCE, doubt: true, contradicted: true };

export function gradeOf(evidence: OrderEvidence, needed = EVIDENCE_NEEDED): OrderGrade {
  if (evidence.direction === null || evidence.doubt || evidence.inOrder < needed.inOrder) return 'none';
  return evidence.inPlace < needed.inPlace ? 'usable' : 'trusted';
}

/** Compares two keys by their place in the list: negative if `a` is nearer to the top. */
export function compareInList(keyType: KeyType, direction: ListDirection, a: string, b: string): number {
  return direction === 'rising' ? compareKeys(keyType, a, b) : compareKeys(keyType, b, a);
}

/**
 * Evidence from a page: the order of its items among each other and after its cursor.
 * @param keys in the page's order, neighbours distinct; at least one
 * @param asked the walk at the time of the request
 * @returns `fromStart`: the page begins before its cursor, which the service ignored. That costs trust, and is no
 *   contradiction
 */
export function observeOrder(
  evidence: OrderEvidence,
  keyType: KeyType,
  keys: readonly string[],
  asked: Reading,
  needed = EVIDENCE_NEEDED,
): { evidence: OrderEvidence; run: number; fromStart: boolean; contradiction: boolean } {
  const fromStart = beginsBefore(evidence, keyType, keys, asked, needed);
  const { recent } = asked;
  const after = askedAfter(asked);
  const chain = after === null || after === keys[0] || fromStart ? keys : [after, ...keys];
  let direction = evidence.direction;
  for (const [i, key] of chain.entries()) {
    const before = chain[i - 1];
    if (before === undefined) continue;
    const seen = compareKeys(keyType, before, key) < 0 ? 'rising' : 'falling';
    if (direction !== null && direction !== seen) {
      return { evidence: CONTRADICTED, run: 0, fromStart, contradiction: true };
    }
    direction = seen;
  }
  const last = recent.at(-1);
  const chained = !fromStart && after !== null && last !== undefined && recent.includes(after);
  const added = chained
    ? keys.filter((key) => direction === null || compareInList(keyType, direction, key, last) > 0)
    : keys;
  const run = Math.min(needed.inOrder, (chained ? asked.run : 0) + added.length);
  const inOrder = Math.max(evidence.inOrder, run);
  const inPlace = fromStart ? 0 : evidence.inPlace;
  const same =
    direction === evidence.direction &&
    inOrder === evidence.inOrder &&
    inPlace === evidence.inPlace &&
    fromStart === evidence.fromStart;
  const learnt = same ? evidence : { ...evidence, direction, inOrder, inPlace, fromStart };
  return { evidence: learnt, run, fromStart, contradiction: false };
}

/**
 * Whether the service ignored the cursor. Before the order is usable, only a page from the very top counts; any other
 * page before its cursor contradicts the order. Once it is usable, any such page counts, since the top row may be gone.
 * A cursor whose row has just been seen is never ignored.
 */
function beginsBefore(
  evidence: OrderEvidence,
  keyType: KeyType,
  [begin]: readonly string[],
  asked: Reading,
  needed: typeof EVIDENCE_NEEDED,
): boolean {
  const { direction } = evidence;
  const { first, again } = asked;
  const after = askedAfter(asked);
  if (begin === undefined || after === null || begin === after) return false;
  if (begin === first) return true;
  if (direction === null || compareInList(keyType, direction, begin, after) > 0) return false;
  if (again !== null) return false;
  if (first === null || gradeOf(evidence, needed) !== 'none') return true;
  return compareInList(keyType, direction, begin, first) <= 0;
}

/**
 * A row of a written page. `known`: the mirror has it as a live row; `changed`: its content differs from what the mirror
 * had.
 */
export type WrittenRow = Readonly<{ key: string; known: boolean; changed: boolean }>;

/** Counts the changed rows in key order between unchanged neighbours. */
export function observeChanges(
  evidence: OrderEvidence,
  keyType: KeyType,
  rows: readonly WrittenRow[],
  needed = EVIDENCE_NEEDED,
): OrderEvidence {
  const { direction } = evidence;
  if (direction === null || evidence.fromStart || evidence.inPlace >= needed.inPlace) return evidence;
  let { inPlace } = evidence;
  for (const [i, row] of rows.entries()) {
    const above = rows[i - 1];
    const below = rows[i + 1];
    if (above === undefined || below === undefined || !row.known || !row.changed) continue;
    const steady = above.known && !above.changed && below.known && !below.changed;
    const inPlaceHere =
      compareInList(keyType, direction, above.key, row.key) < 0 &&
      compareInList(keyType, direction, row.key, below.key) < 0;
    if (steady && inPlaceHere) inPlace += 1;
  }
  return inPlace === evidence.inPlace ? evidence : { ...evidence, inPlace: Math.min(needed.inPlace, inPlace) };
}

/**
 * State of a scope between walks, stored as JSON in `scope.memory`. It rarely changes: most pages of a full walk
 * rewrite only the checkpoint.
 */
export interface ScopeMemory {
  /**
   * Cursors that the service accepts:
   * - `ids`: items' IDs, as specified; it offers none of its own
   * - `offered`: it offers its own
   * - `offered-only`: it offers its own and has refused an item's ID
   */
  readonly cursors: 'ids' | 'offered' | 'offered-only';
  readonly keyType: KeyType;
  readonly evidence: OrderEvidence;
  /** Evidence needed for an order. A rule of this program, like `keyType`; the stored value is ignored. */
  readonly needed: typeof EVIDENCE_NEEDED;
  /** The next poll reads every row with a greater key. Null until a walk in a known order sets it. */
  readonly frontier: Frontier | null;
  /** The unread part of an interrupted poll; the next poll begins with it. */
  readonly open: OpenPart | null;
  readonly limit: PageLimit;
  /** Lower bound of the scope's live rows: those at the start of the last full walk and those inserted since. */
  readonly rows: number;
  readonly refreshed: RefreshTimes;
  /** The last full walk if it was complete and clean: a second equal one proves absences (P2). */
  readonly whole: WholeWalk | null;
}

export function newMemory(keyType: KeyType): ScopeMemory {
  return {
    keyType,
    cursors: 'ids',
    evidence: NO_EVIDENCE,
    needed: EVIDENCE_NEEDED,
    frontier: null,
    open: null,
    limit: FIRST_LIMIT,
    rows: 0,
    refreshed: { day: 0, week: 0 },
    whole: null,
  };
}

/** Memory as stored (`{}` for a new scope). Fields that an earlier version did not store get their initial value. */
export function readMemory(stored: unknown, keyType: KeyType): ScopeMemory {
  const known = stored as Partial<ScopeMemory>;
  return {
    ...newMemory(keyType),
    ...known,
    evidence: { ...NO_EVIDENCE, ...known.evidence },
    limit: { ...FIRST_LIMIT, ...known.limit },
    refreshed: { day: 0, week: 0, ...known.refreshed },
    keyType,
    needed: EVIDENCE_NEEDED,
  };
}

export function orderGrade(memory: ScopeMemory): OrderGrade {
  return gradeOf(memory.evidence, memory.needed);
}

/** Direction of the list if its order is usable, else null. */
export function usableDirection(memory: ScopeMemory): ListDirection | null {
  return orderGrade(memory) === 'none' ? null : memory.evidence.direction;
}

/**
 * The memory after a page was written. Called in the page's transaction, before the next `step`.
 * @param rows the page's rows in its order, without quarantined items
 */
export function noteWritten(memory: ScopeMemory, rows: readonly WrittenRow[]): ScopeMemory {
  const evidence = observeChanges(memory.evidence, memory.keyType, rows, memory.needed);
  const inserted = rows.filter((row) => !row.known).length;
  if (evidence === memory.evidence && inserted === 0) return memory;
  return { ...memory, evidence, rows: memory.rows + inserted };
}

/** Lag allowed for the stored frontier, ms: the next poll's overlap reaches that much further back. */
const FRONTIER_LAG = OVERLAP / 2;

/**
 * Whether to store the memory with a page. It is skipped if only the frontier's time differs, and by little: else every
 * poll without news would write it.
 */
export function isWorthStoring(stored: ScopeMemory, memory: ScopeMemory): boolean {
  if (memory === stored) return false;
  const { frontier: before, ...known } = stored;
  const { frontier, ...rest } = memory;
  if (before === null || frontier === null) return true;
  if (frontier.asOf < before.asOf || frontier.asOf - before.asOf >= FRONTIER_LAG) return true;
  return !isDeepStrictEqual({ ...frontier, asOf: before.asOf }, before) || !isDeepStrictEqual(rest, known);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** Last refresh of rows that changed within a day and within a week, milliseconds since the epoch. */
type RefreshTimes = Readonly<Record<'day' | 'week', number>>;

/**
 * How far back the refresh at `now` reaches, ms: rows that changed since are due; those of the last hour are due in
 * every poll (docs/design/walks.md, "Unfinished rows"). If the clock went back, all are due.
 */
export function refreshHorizon(refreshed: RefreshTimes, now: number): number {
  if (elapsed(refreshed.week, now) >= HOUR) return WEEK;
  return elapsed(refreshed.day, now) >= 10 * MINUTE ? DAY : HOUR;
}

/** State after a successful refresh that began at `began` and reached back `horizon`. */
export function afterRefresh(refreshed: RefreshTimes, horizon: number, began: number): RefreshTimes {
  return {
    day: horizon >= DAY ? began : refreshed.day,
    week: horizon >= WEEK ? began : refreshed.week,
  };
}

/**
 * Whether an unfinished row is due in a refresh with this horizon.
 * @param row `since`: when it last changed, milliseconds since the epoch; `failed`: by `stateClass`
 */
export function dueForRefresh(row: { since: number; failed: boolean }, horizon: number, now: number): boolean {
  return now - row.since < (row.failed ? HOUR : horizon);
}

function elapsed(since: number, now: number): number {
  return now < since ? Number.POSITIVE_INFINITY : now - since;
}
