import type { AtEnd } from '../mirror/page-record.ts';
import { BELIEVED_WITHIN } from '../mirror/apply-deletions.ts';
import { type CollectionChange, addTotals } from '../model/sync-events.ts';
import type { Scope } from '../model/collections.ts';
import { type Checkpoint, resumeFull } from '../walk/checkpoint.ts';
import { beginConfirm, beginRefresh } from '../walk/refresh.ts';
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
import type { Step } from '../walk/walk.ts';
import type { ReadingContext } from './reading-context.ts';
import type { ScopeSession } from './scope-session.ts';
import { type ReadWhole, type WalkOptions, type WalkResult } from './walk-result.ts';
import { runWalk } from './walk-run.ts';

/** Live rows from the newest that every poll reads again (docs/design/walks.md, "Overlap"). */
const OVERLAP_ROWS = 200;
/** An unfinished full walk older than this (7 days) is not resumed: its first pages say little of today. */
const STALE_WALK_MS = 7 * 86_400_000;

export interface ScopeReading extends Pick<
  WalkOptions,
  'collection' | 'priority' | 'signal' | 'requests' | 'accept' | 'early'
> {
  readonly context: ReadingContext;
  readonly session: ScopeSession;
  /** What `freshness` says once the collection was read; left out for one list among many. */
  readonly onRead?: ((asOf: Date, began: Date) => CollectionChange) | undefined;
  /** The same where only the rest of an interrupted walk was read; left out: as `onRead`. */
  readonly onRest?: ScopeReading['onRead'];
}

/**
 * Mirrors the scope's new rows and the changes of its unfinished rows: a poll, then a refresh of the unfinished rows
 * that the poll did not pass.
 * @returns `full-needed` where the order is not known, or was lost: only a full walk can do the work
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
      const due = end.outcome === 'complete' ? [] : await dueRows(reading, memory, now);
      return due.every((key) => seen.has(key))
        ? mirroredAsOf(reading, asOf, began, end.outcome === 'complete')
        : {};
    },
  });
  if (poll.outcome !== 'reached') return poll;
  const unfinished = (await dueRows(reading, session.memory, now)).filter((key) => !poll.seen.has(key));
  if (unfinished.length === 0) return poll;

  const horizon = refreshHorizon(session.memory.refreshed, now);
  const refresh = await runWalk(
    context,
    session,
    (from) => beginRefresh(session.memory, { unfinished, now: from }),
    {
      ...reading,
      onEnd: async (end, { walk, memory }) =>
        end.outcome !== 'reached'
          ? {}
          : {
              memory: { ...memory, refreshed: afterRefresh(memory.refreshed, horizon, now - walk.agedMs) },
              ...(await mirroredAsOf(reading, asOf - walk.agedMs, began, false)),
            },
    },
  );
  return both(poll, refresh);
}

/**
 * Reads the scope's new rows alone, and no unfinished ones, by full pages.
 * @returns `full-needed` as `pollScope`
 */
export async function readNew(
  reading: ScopeReading,
  options: Pick<WalkOptions, 'onEnd'> = {},
): Promise<WalkResult> {
  const { context, session } = reading;
  const begin = async (now: number): Promise<Step> => {
    const direction = usableDirection(session.memory);
    const overlapKey = direction === null ? null : await context.store.nthNewest(session.scope, OVERLAP_ROWS);
    return beginPoll(session.memory, { overlapKey, now });
  };
  return runWalk(context, session, begin, { ...reading, ...options });
}

/** Reads these rows again in the fewest pages. @returns `full-needed` where the order is not known, or was lost */
export async function rereadRows(reading: ScopeReading, keys: readonly string[]): Promise<WalkResult> {
  const { context, session } = reading;
  const begin = (now: number): Step => beginRefresh(session.memory, { unfinished: keys, now });
  return runWalk(context, session, begin, reading);
}

/**
 * Reads all pages. An interrupted full walk is resumed at its stored cursor: its earlier pages count as of its own
 * beginning.
 * @param part it may end earlier, and what it reads counts as of `asOf` (ms), before it begins
 */
export async function readAll(
  reading: ScopeReading,
  part?: Pick<Required<WalkOptions>, 'enough'> & { readonly asOf: number },
): Promise<WalkResult> {
  const { context, session } = reading;
  return runWalk(context, session, (now) => beginOrResume(reading, now, part?.asOf), {
    ...reading,
    ...(part && { enough: part.enough }),
    onEnd: (end, { walk, memory }) => {
      if (end.outcome !== 'complete' && end.outcome !== 'reached') return Promise.resolve({});
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
 * Reads all pages as of the call. An interrupted full walk is resumed at its stored cursor, so that the list's end is
 * reached whatever kills walks in the middle. Then the pages before that cursor are read again, from the top: rows
 * there may be gone since.
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
 * Reads from the top what an interrupted walk had read. It ends there if no row can be missing unnoticed; else it
 * goes on to the list's end, as a whole walk of its own.
 * @param began when the rest of that walk began to be read (ms): both count as of then
 */
async function readAgain(
  reading: ScopeReading,
  { recent }: Checkpoint,
  rest: WalkResult,
  began: number,
): Promise<WalkResult> {
  const { session, context } = reading;
  const through = recent.at(-1);
  const enough: Required<WalkOptions>['enough'] = async (walk, memory) => {
    const { since } = session;
    if (since === undefined || through === undefined || !hasReadThrough(walk, memory, through)) return false;
    // Asked once: it reads all live keys.
    session.since = undefined;
    const missing = await context.store.liveKeysMissing(session.scope, (key) => since.has(key));
    // If rows are missing, or pages may suspect some, it goes on to the end: else a row that moved there meanwhile
    // would pass for gone, in an order that only looks trustworthy (test/model: `sink`).
    return (
      missing.length === 0 && !since.lost && rest.walk.restarts === 0 && orderGrade(memory) !== 'trusted'
    );
  };
  const again = await readAll(reading, { asOf: began, enough });
  const read = both(rest, again);
  if (again.outcome !== 'reached' || again.whole === undefined) return read;
  const whole: ReadWhole = { ...again.whole, conclusive: true };
  return { ...read, outcome: 'complete', whole };
}

/**
 * Reads suspects again. @returns `full-needed` where there is no order to go by: only whole walks can prove them gone
 */
export async function confirmRows(reading: ScopeReading, keys: readonly string[]): Promise<WalkResult> {
  const { context, session } = reading;
  const begin = (now: number): Step => beginConfirm(session.memory, { keys, now });
  return runWalk(context, session, begin, reading);
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
  const unbelieved = await unbelievedRows(context, session.scope);
  const collection = onRead?.(polledAt, new Date(began));
  return { polledAt, unbelieved, ...(collection === undefined ? {} : { collection }) };
}

/**
 * Keys of rows that a page showed too soon after they were deleted or changed: the page may be stale. The mirror does
 * not have them as that page had them; they wait for a second sighting (docs/design/deletions.md, "Returns").
 */
async function unbelievedRows(
  { store, gracePeriodMs }: Pick<ReadingContext, 'store' | 'gracePeriodMs'>,
  scope: Scope,
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

async function beginOrResume({ context, session }: ScopeReading, now: number, asOf = now): Promise<Step> {
  const interrupted = interruptedWalk(session, now);
  if (interrupted !== undefined) return resumeFull(session.memory, interrupted);
  return beginFull(session.memory, { liveRows: await context.store.liveRows(session.scope), now: asOf });
}

/** Keys of unfinished rows that are due at `now`. */
async function dueRows(
  { context, session }: ScopeReading,
  memory: ScopeMemory,
  now: number,
): Promise<string[]> {
  if (usableDirection(memory) === null) return [];
  const horizon = refreshHorizon(memory.refreshed, now);
  const rows = await context.store.unfinishedRows(session.scope, new Date(now - horizon));
  return rows
    .filter(({ since, failed }) => dueForRefresh({ since: since.getTime(), failed }, horizon, now))
    .map((row) => row.key);
}
