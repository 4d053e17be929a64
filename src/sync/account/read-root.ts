import { PRIORITY } from '../../budget/priorities.ts';
import { childrenOf, type ListCollection, type Scope } from '../../model/collections.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { SessionPool } from '../scope/session-pool.ts';
import type { DeletionConfirmer } from '../second-proofs/deletion-confirmer.ts';
import type { FinishOptions } from '../second-proofs/second-readings.ts';
import { both, interruptedWalk, pollScope, readAll } from '../walk-run/read-scope.ts';
import { readWhole } from '../walk-run/read-whole.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';
import { addTotals } from '../walk-run/walk-totals.ts';
import type { ReadFreshness } from './read-freshness.ts';
import type { EarlyRuns } from './early-runs.ts';
import { NOTHING, readOutcomeOf, type ReadOutcome } from './read-outcome.ts';
import type { ReadingTurns } from './reading-turns.ts';

export interface ReadRequest {
  /**
   * - `full`: every row; missing rows are read again after the grace period, and deleted
   * - `rows`: every row; missing rows stay suspected
   * - `poll`: new rows and changes of unfinished rows; `fullNeeded` where a poll can't find them
   * - `current`: as `poll`, or as `rows` where a poll can't find them
   */
  readonly what: 'full' | 'rows' | 'poll' | 'current';
  readonly signal: AbortSignal;
  /**
   * It is a run of the schedule. Of many lists, those are read that need it most: it ends with the cron line's next
   * poll. Default: all are read.
   */
  readonly scheduled?: boolean;
  /** Lifts the brake of deletions. */
  readonly accept?: boolean;
}

/** Reads a collection that is one scope. */
export class RootReader {
  readonly #context: ReadingContext;
  readonly #sessions: SessionPool;
  readonly #confirmer: DeletionConfirmer;
  readonly #turns: ReadingTurns;
  readonly #freshness: ReadFreshness;
  readonly #earlyRuns: EarlyRuns;

  constructor(
    context: ReadingContext,
    sessions: SessionPool,
    confirmer: DeletionConfirmer,
    turns: ReadingTurns,
    freshness: ReadFreshness,
    earlyRuns: EarlyRuns,
  ) {
    this.#context = context;
    this.#sessions = sessions;
    this.#confirmer = confirmer;
    this.#turns = turns;
    this.#freshness = freshness;
    this.#earlyRuns = earlyRuns;
  }

  read(
    found: ListCollection,
    { what, signal, scheduled, accept }: Required<ReadRequest>,
  ): Promise<ReadOutcome> {
    const { name } = found;
    const scope: Scope = { userId: this.#context.fence.userId, collection: name, parent: '' };
    return this.#sessions.use(scope, found, async (session) => {
      const reading = { context: this.#context, collection: found, session, signal, accept };
      const [onRest, onRead] = [this.#freshness.onRead(name, 'poll'), this.#freshness.onRead(name, 'full')];
      const all = (): Promise<WalkResult> =>
        readAll({
          ...reading,
          onRead: interruptedWalk(session, this.#context.clock.now()) === undefined ? onRead : onRest,
          priority: PRIORITY.FULL,
        });
      // While a first load goes on, polls bring what is new.
      const poll = async (): Promise<WalkResult | undefined> => {
        if (!session.everComplete && session.memory.frontier === null) return undefined;
        this.#earlyRuns.note(name, session.learnt);
        for (const child of childrenOf(name)) this.#earlyRuns.noteLists(child.name, session.memory.rows);
        const onPoll = this.#freshness.onPoll(name);
        const early = scheduled && this.#earlyRuns.isEarly(name, this.#context.clock.now());
        const polled = await pollScope({ ...reading, early, onRead: onPoll, priority: PRIORITY.POLL });
        return polled.outcome === 'full-needed' ? undefined : polled;
      };
      const rows = async (): Promise<WalkResult> => {
        const resumes = session.fullWalk !== undefined;
        const walked = await all();
        if (!resumes || walked.outcome !== 'complete') return walked;
        // A part was read before the call: a poll brings what is new there, and what may have changed.
        return both(walked, (await this.#turns.run(name, 'poll', poll)) ?? (await all()));
      };
      const whole = (): Promise<WalkResult> =>
        readWhole({ ...reading, onRest, onRead, priority: PRIORITY.FULL });
      // The wait for second proofs is outside the turn: other full walks may go on meanwhile.
      const finish = (walked: WalkResult): Promise<ReadOutcome> =>
        this.#finish(found, walked, { signal, accept, patient: what === 'full' });
      if (what === 'full') return finish(await this.#turns.walk(name, whole));
      if (what === 'rows') return finish(await this.#turns.walk(name, rows));
      const polled = await this.#turns.run(name, 'poll', poll);
      if (polled !== undefined && session.everComplete) return readOutcomeOf(name, polled);
      if (what === 'poll') {
        if (polled === undefined) return { ...NOTHING, fullNeeded: true };
        // The first load is under way, or has to go on.
        return { ...readOutcomeOf(name, polled), fullNeeded: !this.#turns.isWalking(name) };
      }
      // After a full walk that is under way, a poll may do.
      const read = await this.#turns.walk(name, async () => {
        const again = session.everComplete ? await this.#turns.run(name, 'poll', poll) : undefined;
        return again === undefined ? { walked: await rows() } : { again };
      });
      return 'walked' in read ? finish(read.walked) : readOutcomeOf(name, read.again);
    });
  }

  /** After everything is read: second proofs of the rows that were not seen. */
  async #finish(
    found: ListCollection,
    walked: WalkResult,
    options: Omit<FinishOptions, 'walkTurn'>,
  ): Promise<ReadOutcome> {
    const { name } = found;
    const walkTurn: FinishOptions['walkTurn'] = (task) => this.#turns.walk(name, task);
    const outcome = readOutcomeOf(name, walked);
    const { whole } = walked;
    if (outcome.error !== undefined || whole === undefined) return outcome;
    const open = new Map(whole.complete ? [] : [['', whole] as const]);
    const confirmed = await this.#turns.run(name, 'suspects', () =>
      this.#confirmer.finish(found, open, { ...options, walkTurn }),
    );
    // Rows that were suspected meanwhile are the next reading's.
    return {
      ...NOTHING,
      ...confirmed,
      totals: addTotals(walked.totals, confirmed.totals),
      suspects: [name],
    };
  }
}
