/** Reads a collection that is one scope, or an endpoint that answers one object. */

import { messageOf } from '@research-mirror/runtime/message';
import { Mutex } from '@research-mirror/runtime/mutex';
import { isStopped } from '@research-mirror/runtime/service';
import {
  childrenOf,
  type CollectionName,
  type ListCollection,
  type Scope,
  type SingleCollection,
} from '../model/collections.ts';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import { ageOf, stateOf } from '../model/page.ts';
import { addTotals, NO_TOTALS, totalsOf } from '../model/sync-events.ts';
import { failureMessage } from '../postgres/sql-state.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import { NO_PAGE } from '../walk/take-page.ts';
import type { DeletionConfirmer } from './deletion-confirmer.ts';
import type { EarlyRuns } from './early-runs.ts';
import { both, pollScope, readAll, readWhole } from './read-scope.ts';
import { carryingFreed, type ReadingContext } from './reading-context.ts';
import type { SessionPool } from './scope-session.ts';
import { EMPTY_OUTCOME, type ReadOutcome, readOutcomeOf, type ScopeReading, type WalkResult } from './walk-result.ts';

export interface ReadRequest extends Pick<ScopeReading, 'signal' | 'accept'> {
  /**
   * - `full`: every row; missing rows are read again after the grace period, and deleted
   * - `rows`: every row; missing rows stay suspected
   * - `poll`: new rows and changes of unfinished rows; `fullNeeded` if a poll can't find them
   * - `current`: as `poll`, or as `rows` if a poll can't find them
   */
  readonly what: 'full' | 'rows' | 'poll' | 'current';
  /** A run of the schedule, which ends with the cron line's next poll. Default: all lists are read. */
  readonly scheduled?: boolean;
}

/** One reading of each kind and collection at a time: a second request waits, and begins its own. */
export class ReadingTurns {
  readonly #mutexes = new Map<string, Mutex>();
  readonly #running = new Set<string>();

  /** @param kind `suspects`: second readings and deletions */
  run<T>(name: CollectionName, kind: 'poll' | 'full' | 'suspects', task: () => Promise<T>): Promise<T> {
    const key = `${name}/${kind}`;
    const mutex = this.#mutexes.get(key) ?? new Mutex();
    this.#mutexes.set(key, mutex);
    return mutex.run(async () => {
      this.#running.add(key);
      try {
        return await task();
      } finally {
        this.#running.delete(key);
      }
    });
  }

  /** Whether a full walk of the collection is running. */
  isWalking(name: CollectionName): boolean {
    return this.#running.has(`${name}/full`);
  }
}

/** Reads a collection that is one scope. @param shared what all readings of an account share */
export function readRoot(
  shared: {
    readonly context: ReadingContext;
    readonly sessions: SessionPool;
    readonly confirmer: DeletionConfirmer;
    readonly turns: ReadingTurns;
    readonly runs: EarlyRuns;
  },
  found: ListCollection,
  { what, signal, scheduled = false, accept = false }: ReadRequest,
): Promise<ReadOutcome> {
  const { context, sessions, confirmer, turns, runs } = shared;
  const { name } = found;
  return sessions.use(found, '', async (session) => {
    const reading = { context, collection: found, session, signal, accept };
    const [onRest, onRead] = [runs.onRead(name, 'poll'), runs.onRead(name, 'full')];
    const full = { ...reading, onRest, onRead, priority: PRIORITY.FULL };
    // During a first load, polls bring what is new.
    const poll = async (): Promise<WalkResult | undefined> => {
      if (!session.everComplete && session.memory.frontier === null) return undefined;
      if (childrenOf(name).length > 0) runs.noteLists(session.memory.rows);
      const began = new Date(context.clock.now());
      const early = scheduled && runs.isEarly(name);
      const onPoll = runs.onPoll(name);
      const polled = await pollScope({ ...reading, early, onRead: onPoll, priority: PRIORITY.POLL });
      if (polled.outcome === 'full-needed') return undefined;
      // A poll that failed leaves its run due; in a first load all rows are new.
      const isWell = polled.outcome === 'reached' || polled.outcome === 'complete';
      const sooner = isWell && session.everComplete ? runs.notePoll(name, began, polled.totals) : undefined;
      if (sooner !== undefined) await context.store.saveCollection(name, sooner);
      return polled;
    };
    const rows = async (): Promise<WalkResult> => {
      const resumes = session.fullWalk !== undefined;
      const walked = await readAll(full);
      if (!resumes || walked.outcome !== 'complete') return walked;
      // A part was read before the call: a poll brings what is new there, and what may have changed.
      return both(walked, (await turns.run(name, 'poll', poll)) ?? (await readAll(full)));
    };
    // Second proofs of the rows that were not seen. The wait is outside the turn: other full walks may run meanwhile.
    const finish = async (walked: WalkResult): Promise<ReadOutcome> => {
      const outcome = readOutcomeOf(name, walked);
      const { whole } = walked;
      if (outcome.error !== undefined || whole === undefined) return outcome;
      const open = new Map(whole.complete ? [] : [['', whole] as const]);
      const confirmed = await turns.run(name, 'suspects', () =>
        confirmer.finish(found, open, {
          signal,
          accept,
          patient: what === 'full',
          walkTurn: (task) => turns.run(name, 'full', task),
        }),
      );
      // Rows that were suspected meanwhile are the next reading's.
      return { ...confirmed, totals: addTotals(walked.totals, confirmed.totals), suspects: [name] };
    };
    if (what === 'full') return finish(await turns.run(name, 'full', () => readWhole(full)));
    if (what === 'rows') return finish(await turns.run(name, 'full', rows));
    const polled = await turns.run(name, 'poll', poll);
    if (polled !== undefined && session.everComplete) return readOutcomeOf(name, polled);
    if (what === 'poll') {
      if (polled === undefined) return { ...EMPTY_OUTCOME, fullNeeded: true };
      // The first load is running, or has to go on.
      return { ...readOutcomeOf(name, polled), fullNeeded: !turns.isWalking(name) };
    }
    // After a full walk that is running, a poll may do.
    const read = await turns.run(name, 'full', async () => {
      const again = session.everComplete ? await turns.run(name, 'poll', poll) : undefined;
      return again === undefined ? { walked: await rows() } : { again };
    });
    return 'walked' in read ? finish(read.walked) : readOutcomeOf(name, read.again);
  });
}

/** Reads an endpoint that answers one object: a page with one item, the account's row. @throws LeaseLost, KeyRefused */
export async function readSingle(
  context: ReadingContext,
  { name, path, route }: SingleCollection,
  onRead: NonNullable<ScopeReading['onRead']>,
  signal: AbortSignal,
): Promise<ReadOutcome> {
  const { fence, mirror, source, clock, observer } = context;
  const scope: Scope = { userId: fence.userId, collection: name, parent: '' };
  const kind = 'single';
  const startedAt = new Date(clock.now());
  const startedTick = clock.monotonic();
  let totals = NO_TOTALS;
  /** Undefined: the scope was not opened, so nothing is known of its observations. */
  let lastObs: number | undefined;
  observer.walkStarted({ scope, kind, resumed: false });
  const ended = (outcome: 'complete' | 'failed' | 'interrupted', error?: Error): void => {
    const { pages, items, inserted, updated } = totals;
    const milliseconds = clock.monotonic() - startedTick;
    observer.walkEnded({ scope, kind, outcome, error, pages, items, inserted, updated, milliseconds });
  };
  try {
    const after = (await context.store.openScope(scope)).lastObs;
    lastObs = after;
    let sentAfter = clock.monotonic();
    const answer = await source.object({
      path: path(),
      route,
      priority: PRIORITY.POLL,
      signal: new AbortController().signal,
      stop: signal,
      mayStart: () => {
        sentAfter = clock.monotonic();
        return true;
      },
      onExchange: ({ status }) => {
        totals = addTotals(totals, { requests: 1, rateLimited: status === 429 ? 1 : 0 });
      },
    });
    const { served } = answer;
    const agedMs = ageOf(answer);
    const polledAt = new Date(startedAt.getTime() - agedMs);
    const item = { source: answer.source, state: stateOf(answer.fields), key: '', problem: undefined };
    const result = await carryingFreed(context, (alsoInTransaction) =>
      mirror.applyPage(fence, {
        scope,
        obs: after + 1,
        after,
        page: { items: [item], hasMore: undefined, nextCursor: undefined, ...(served && { served }) },
        sentAfter: sentAfter - agedMs,
        taken: NO_PAGE,
        walk: { kind, began: startedAt.getTime(), agedMs },
        memory: undefined,
        end: { type: 'end', outcome: 'complete', polledAt, collection: onRead(polledAt, startedAt) },
        startedAt,
        firstSentAt: undefined,
        totals: addTotals(totals, { pages: 1, items: 1 }),
        polledAt: undefined,
        lastReadAt: undefined,
        early: false,
        whole: undefined,
        badItems: undefined,
        alsoInTransaction,
      }),
    );
    const counts = result.state === 'applied' ? totalsOf(result.counts) : NO_TOTALS;
    totals = addTotals(totals, { ...counts, pages: 1, items: 1 });
    if (result.state === 'applied') {
      const { completeAsOf } = result.decided;
      if (completeAsOf !== undefined) source.claimComplete({ scope, completeAsOf });
      if (result.changed !== undefined) context.onChanged(result.changed);
    }
    observer.pageWritten({ scope, kind, ...counts, items: 1 });
    ended('complete');
    return { ...EMPTY_OUTCOME, totals };
  } catch (cause) {
    if (cause instanceof LeaseLost) throw cause;
    if (isStopped(cause)) {
      ended('interrupted');
      return { ...EMPTY_OUTCOME, totals };
    }
    const error = cause instanceof Error ? cause : new Error(messageOf(cause));
    ended('failed', error);
    if (error instanceof KeyRefused) throw error;
    const failure = { message: failureMessage(error), at: new Date(clock.now()) };
    const collection = { state: 'failing', failure } as const;
    const walkEnd = {
      scope,
      kind,
      startedAt,
      outcome: 'failed',
      totals,
      error: failure.message,
      collection,
    } as const;
    await mirror.endWalk(fence, scope, { scope: { failure }, walkEnd }, lastObs);
    return { ...EMPTY_OUTCOME, error, totals };
  }
}
