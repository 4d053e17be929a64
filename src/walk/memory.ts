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
 * Cursors that the service takes:
 * - `ids`: items' IDs, as specified; it offers none of its own
 * - `offered`: it offers its own
 * - `offered-only`: it offers its own, and refused an item's ID
 */
type Cursors = 'ids' | 'offered' | 'offered-only';

/**
 * What is remembered of a scope between walks: JSON, stored in `scope.memory`. It rarely changes: most pages of a
 * full walk rewrite only the checkpoint.
 */
export interface ScopeMemory {
  readonly cursors: Cursors;
  readonly keyType: KeyType;
  readonly evidence: OrderEvidence;
  /** How much evidence makes an order: this program's rule, like `keyType`, whatever is stored. */
  readonly needed: EvidenceNeeded;
  /** The next poll reads every row with a greater key. Null until a walk in a known order has set it. */
  readonly frontier: Frontier | null;
  /** What an interrupted poll has not read yet; the next one begins with it. */
  readonly open: OpenPart | null;
  readonly limit: PageLimit;
  /** Live rows of the scope, at least: those when the last full walk began, and those inserted since. */
  readonly rows: number;
  readonly refreshed: Refreshed;
  /** The last full walk, where it was complete and clean: a second one like it proves absences (P2). */
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

/** Memory as stored (`{}` for a new scope); what an earlier version did not store gets its first value. */
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

/** The scope's direction while its order is usable, else null. */
export function usableDirection(memory: ScopeMemory): ListDirection | null {
  return orderGrade(memory) === 'none' ? null : memory.evidence.direction;
}

/**
 * The memory after a page was written: called in its transaction, before the next `step`.
 * @param rows the page's rows in the page's order, without quarantined items
 */
export function noteWritten(memory: ScopeMemory, rows: readonly WrittenRow[]): ScopeMemory {
  const evidence = observeChanges(memory.evidence, memory.keyType, rows, memory.needed);
  const inserted = rows.filter((row) => !row.known).length;
  if (evidence === memory.evidence && inserted === 0) return memory;
  return { ...memory, evidence, rows: memory.rows + inserted };
}

/** How far (ms) the stored frontier may lag behind: the next poll's overlap reaches back as much further. */
const FRONTIER_LAG = OVERLAP / 2;

/**
 * Whether the memory is to be stored with a page. Not where it says what is stored already, as of a little later: each
 * poll in which nothing happens would write all of it.
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

/** When a scope's rows of the cooler classes were last read again: milliseconds since the epoch. */
interface Refreshed {
  /** Rows that changed within a day. */
  readonly day: number;
  /** Rows that changed within a week. */
  readonly week: number;
}

/**
 * How far back (ms) the refresh at `now` reaches: rows that changed later are due, an hour's with each poll
 * (docs/design/walks.md, "Unfinished rows"). A clock that went back makes all due.
 */
export function refreshHorizon(refreshed: Refreshed, now: number): number {
  if (elapsed(refreshed.week, now) >= HOUR) return WEEK;
  return elapsed(refreshed.day, now) >= 10 * MINUTE ? DAY : HOUR;
}

/** What to remember after a refresh that began at `began`, reached back `horizon` and ended well. */
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
