/** One reading of a scope: polls, refreshes, full walks, and walks that go on where one was interrupted. */

import { BELIEVED_WITHIN } from '../mirror/apply-deletions.ts';
import type { AtEnd } from '../mirror/page-record.ts';
import { addTotals } from '../model/sync-events.ts';
import { type Checkpoint, resumeFull } from '../walk/checkpoint.ts';
import { beginFull, hasReadThrough } from '../walk/full.ts';
import {
  afterRefresh,
  dueForRefresh,
  orderGrade,
  refreshHorizon,
  type ScopeMemory,
  usableDirection,
} from '../walk/memory.ts';
import { beginPoll } from '../walk/poll.ts';
import { readAsOf } from '../walk/reading.ts';
import { beginConfirm, beginRefresh } from '../walk/refresh.ts';
import type { Step } from '../walk/walk.ts';
import type { ScopeSession } from './scope-session.ts';
import type { ScopeReading, WalkResult } from './walk-result.ts';
import { runWalk, type WalkHooks } from './walk-run.ts';

/** Live rows from the newest that every poll reads again (docs/design/walks.md, "Overlap"). */
const OVERLAP_ROWS = 200;
/** An unfinished full walk older than this (7 days) is not resumed: its first pages say little of today. */
const STALE_WALK_MS = 7 * 86_400_000;

/**
 * Mirrors the scope's new rows and the changes of its unfinished rows: a poll, then a refresh of the unfinished rows
 * that the poll did not pass.
 * @returns `full-needed` if the order is not known, or was lost: only a full walk can do the work
 */
export async function pollScope(reading: ScopeReading): Promise<WalkResult> {
  const { context, session } = reading;
  const now = context.clock.now();
  let began = now;
  let asOf = now;
  const poll = await readNew(reading, {
    onEnd: async (end, { walk, memory, seen }) => {
      if (end.outcome !== 'complete' && end.outcome !== 'reached') return {};
      // A resumed poll does not read again what the interrupted one passed.
      began = Math.min(now, walk.began);
      asOf = began - walk.agedMs;
      const whole = end.outcome === 'complete';
      const due = whole ? [] : await dueRows(reading, memory, now);
      return due.every((key) => seen.has(key)) ? mirroredAsOf(reading, asOf, began, whole) : {};
    },
  });
  if (poll.outcome !== 'reached') return poll;
  const unfinished = (await dueRows(reading, session.memory, now)).filter((key) => !poll.seen.has(key));
  if (unfinished.length === 0) return poll;

  const horizon = refreshHorizon(session.memory.refreshed, now);
  const refresh = await rereadRows(reading, unfinished, {
    onEnd: async (end, { walk, memory }) => {
      if (end.outcome !== 'reached') return {};
      const refreshed = afterRefresh(memory.refreshed, horizon, now - walk.agedMs);
      const mirrored = await mirroredAsOf(reading, asOf - walk.agedMs, began, false);
      return { memory: { ...memory, refreshed }, ...mirrored };
    },
  });
  return both(poll, refresh);
}

/** Reads the scope's new rows, and no unfinished ones, by full pages. @returns `full-needed` as `pollScope` */
export function readNew(reading: ScopeReading, hooks?: WalkHooks): Promise<WalkResult> {
  const { context, session } = reading;
  const begin = async (now: number): Promise<Step> => {
    const direction = usableDirection(session.memory);
    const overlapKey = direction === null ? null : await context.store.nthNewest(session.scope, OVERLAP_ROWS);
    return beginPoll(session.memory, { overlapKey, now });
  };
  return runWalk(reading, begin, hooks);
}

/** Reads these rows again in the fewest pages. @returns `full-needed` as `pollScope` */
export function rereadRows(
  reading: ScopeReading,
  unfinished: readonly string[],
  hooks?: WalkHooks,
): Promise<WalkResult> {
  return runWalk(reading, (now) => beginRefresh(reading.session.memory, { unfinished, now }), hooks);
}

/** Reads suspects again. @returns `full-needed` if no order is known: only whole walks can prove them gone */
export function confirmRows(reading: ScopeReading, keys: readonly string[]): Promise<WalkResult> {
  return runWalk(reading, (now) => beginConfirm(reading.session.memory, { keys, now }));
}

/**
 * Reads all pages. Resumes an interrupted full walk at its stored cursor: its earlier pages count from its beginning.
 * @param enough may end the walk earlier
 * @param countsFrom what is read counts as of then (ms); default: the walk's beginning
 */
export function readAll(
  reading: ScopeReading,
  { enough, countsFrom }: Pick<WalkHooks, 'enough'> & { readonly countsFrom?: number } = {},
): Promise<WalkResult> {
  const { context, session } = reading;
  const begin = async (now: number): Promise<Step> => {
    const interrupted = interruptedWalk(session, now);
    if (interrupted !== undefined) return resumeFull(session.memory, interrupted);
    const liveRows = await context.store.liveRows(session.scope);
    return beginFull(session.memory, { liveRows, now: countsFrom ?? now });
  };
  return runWalk(reading, begin, {
    ...(enough && { enough }),
    onEnd: async (end, { walk, memory }) => {
      if (end.outcome !== 'complete' && end.outcome !== 'reached') return {};
      // Polls meanwhile may have seen later rows; but in a broken order they proved nothing.
      const polled = memory.evidence.contradicted ? undefined : session.polledAt;
      const asOf = Math.max(readAsOf(walk), polled?.getTime() ?? 0);
      const isRest = walk.kind === 'full' && walk.resumed;
      const onRead = (isRest ? reading.onRest : undefined) ?? reading.onRead;
      return mirroredAsOf({ ...reading, onRead }, asOf, walk.began, true);
    },
  });
}

/**
 * Reads all pages as of the call. It first resumes an interrupted full walk at its stored cursor, so that the list's
 * end is reached whatever kills walks. Then it reads the pages before that cursor again: rows there may be gone since.
 */
export async function readWhole(reading: ScopeReading): Promise<WalkResult> {
  const { session, context } = reading;
  const began = context.clock.now();
  const interrupted = interruptedWalk(session, began);
  if (interrupted === undefined) return readAll(reading);
  const since = context.keys.open();
  session.since = since;
  try {
    const rest = await readAll(reading);
    // A list that is gone has nothing to read again.
    if (rest.outcome !== 'complete' || rest.status !== undefined) return rest;
    return await readAgain(reading, interrupted, rest, began);
  } finally {
    session.since = undefined;
    since.close();
  }
}

/**
 * Reads from the top what an interrupted walk had read. It ends there if no row can be missing unnoticed. Otherwise it
 * goes on to the list's end, as a whole walk of its own.
 * @param countsFrom when the rest of that walk began to be read (ms): both count as of then
 */
async function readAgain(
  reading: ScopeReading,
  { recent }: Checkpoint,
  rest: WalkResult,
  countsFrom: number,
): Promise<WalkResult> {
  const { session, context } = reading;
  const through = recent.at(-1);
  const enough: NonNullable<WalkHooks['enough']> = async (walk, memory) => {
    const { since } = session;
    if (since === undefined || through === undefined || !hasReadThrough(walk, memory, through)) return false;
    // Once only: it reads all live keys.
    session.since = undefined;
    const missing = await context.store.liveKeysMissing(session.scope, (key) => since.has(key));
    // If rows are missing, or pages may suspect some, it goes on to the end. Otherwise a row that moved there
    // meanwhile would pass for gone, in an order that only looks trustworthy (test/model: `sink`).
    return missing.length === 0 && !since.lost && rest.walk.restarts === 0 && orderGrade(memory) !== 'trusted';
  };
  const again = await readAll(reading, { enough, countsFrom });
  const read = both(rest, again);
  if (again.outcome !== 'reached' || again.whole === undefined) return read;
  return { ...read, outcome: 'complete', whole: { ...again.whole, conclusive: true } };
}

/** The results of two successive walks: the end of the later one, the work of both. */
export function both(first: WalkResult, then: WalkResult): WalkResult {
  return {
    ...then,
    seen: first.seen.union(then.seen),
    totals: addTotals(first.totals, then.totals),
    suspects: first.suspects || then.suspects,
    proven: first.proven || then.proven,
    whole: then.whole ?? first.whole,
  };
}

/**
 * What to store when the scope's new and unfinished rows are mirrored as of then. Nothing after a poll during the
 * first load: it reads new rows, and all others are still to come.
 * @param began when the walk began: runs that came due later stay due
 */
async function mirroredAsOf(
  { context, onRead, session }: ScopeReading,
  asOf: number,
  began: number,
  whole: boolean,
): Promise<AtEnd> {
  if (!whole && !session.everComplete) return {};
  const polledAt = new Date(asOf);
  const unbelieved = await unbelievedRows(context, session);
  const collection = onRead?.(polledAt, new Date(began));
  return { polledAt, unbelieved, ...(collection && { collection }) };
}

/**
 * Keys of rows that a page showed too soon after they were deleted or changed: the page may be stale. They wait for a
 * second sighting (docs/design/deletions.md, "Returns").
 */
async function unbelievedRows(
  { store, gracePeriodMs }: ScopeReading['context'],
  { scope }: ScopeSession,
): Promise<string[]> {
  const returned = (await store.suspectsOf(scope)).filter(({ kind }) => kind === 'returned');
  if (returned.length === 0) return [];
  const stale = (await store.now()).getTime() - BELIEVED_WITHIN * gracePeriodMs;
  return returned.filter(({ at }) => at > stale).map(({ key }) => key);
}

/** Checkpoint of the full walk that a reading of all pages resumes; undefined: it begins a new one. */
function interruptedWalk({ fullWalk }: ScopeSession, now: number): Checkpoint | undefined {
  return fullWalk === undefined || now - fullWalk.began >= STALE_WALK_MS ? undefined : fullWalk;
}

/** Keys of unfinished rows that are due at `now`. */
async function dueRows({ context, session }: ScopeReading, memory: ScopeMemory, now: number): Promise<string[]> {
  if (usableDirection(memory) === null) return [];
  const horizon = refreshHorizon(memory.refreshed, now);
  const rows = await context.store.unfinishedRows(session.scope, new Date(now - horizon));
  return rows
    .filter(({ since, failed }) => dueForRefresh({ since: since.getTime(), failed }, horizon, now))
    .map((row) => row.key);
}
