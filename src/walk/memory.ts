import { isDeepStrictEqual } from 'node:util';
import type { KeyType } from '../model/collections.ts';
import { type Frontier, type OpenPart, OVERLAP } from './frontier.ts';
import {
  EVIDENCE_NEEDED,
  type EvidenceNeeded,
  gradeOf,
  type ListDirection,
  NO_EVIDENCE,
  observeChanges,
  type OrderEvidence,
  type OrderGrade,
  type WrittenRow,
} from './order.ts';
import { FIRST_LIMIT, type PageLimit } from './page-limit.ts';
import type { WholeWalk } from './pair.ts';

/**
 * Cursors that the service accepts:
 * - `ids`: items' IDs, as specified; it offers none of its own
 * - `offered`: it offers its own
 * - `offered-only`: it offers its own and has refused an item's ID
 */
type Cursors = 'ids' | 'offered' | 'offered-only';

/**
 * State of a scope between walks, stored as JSON in `scope.memory`. It rarely changes: most pages of a full walk
 * rewrite only the checkpoint.
 */
export interface ScopeMemory {
  readonly cursors: Cursors;
  readonly keyType: KeyType;
  readonly evidence: OrderEvidence;
  /** Evidence needed for an order. A rule of this program, like `keyType`; the stored value is ignored. */
  readonly needed: EvidenceNeeded;
  /** The next poll reads every row with a greater key. Null until a walk in a known order sets it. */
  readonly frontier: Frontier | null;
  /** The unread part of an interrupted poll; the next poll begins with it. */
  readonly open: OpenPart | null;
  readonly limit: PageLimit;
  /** Lower bound of the scope's live rows: those at the start of the last full walk and those inserted since. */
  readonly rows: number;
  readonly refreshed: Refreshed;
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

/** Last refresh of the rows that change less often, milliseconds since the epoch. */
interface Refreshed {
  /** Of rows that changed within a day. */
  readonly day: number;
  /** Of rows that changed within a week. */
  readonly week: number;
}

/**
 * How far back the refresh at `now` reaches, ms: rows that changed since are due; those of the last hour are due in
 * every poll (docs/design/walks.md, "Unfinished rows"). If the clock went back, all are due.
 */
export function refreshHorizon(refreshed: Refreshed, now: number): number {
  if (elapsed(refreshed.week, now) >= HOUR) return WEEK;
  return elapsed(refreshed.day, now) >= 10 * MINUTE ? DAY : HOUR;
}

/** State after a successful refresh that began at `began` and reached back `horizon`. */
export function afterRefresh(refreshed: Refreshed, horizon: number, began: number): Refreshed {
  return {
    day: horizon >= DAY ? began : refreshed.day,
    week: horizon >= WEEK ? began : refreshed.week,
  };
}

/**
 * Whether an unfinished row is due in a refresh with this horizon.
 * @param row `since`: when it last changed, milliseconds since the epoch; `failed`: by `stateClass`
 */
export function dueForRefresh(
  row: { since: number; failed: boolean },
  horizon: number,
  now: number,
): boolean {
  return now - row.since < (row.failed ? HOUR : horizon);
}

function elapsed(since: number, now: number): number {
  return now < since ? Number.POSITIVE_INFINITY : now - since;
}
