import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { EarlyRuns, RunsAfter } from './early-runs.ts';
import type { Clock } from '@research-mirror/runtime/clock';

export const CURRENT = { state: 'current', failure: null } satisfies CollectionChange;

/** What `freshness` says of collections that were read. */
export class ReadFreshness {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #line: RunsAfter;
  readonly #earlyRuns: EarlyRuns;

  constructor(clock: Pick<Clock, 'now'>, line: RunsAfter, earlyRuns: EarlyRuns) {
    this.#clock = clock;
    this.#line = line;
    this.#earlyRuns = earlyRuns;
  }

  /** The change that a good reading makes. */
  onRead(name: CollectionName, what: 'poll' | 'full'): (asOf: Date, began: Date) => CollectionChange {
    return (asOf, began) => ({ polledAt: asOf, ...CURRENT, ...this.runsAfter(name, what, began) });
  }

  /**
   * The same of a poll: the next one may come before its line's. Not after a full walk: where the order is not known,
   * only these read all rows, and would follow each other.
   */
  onPoll(name: CollectionName): (asOf: Date, began: Date) => CollectionChange {
    return (asOf, begun) => {
      const ended = new Date(this.#clock.now());
      const { nextPollAt } = this.#earlyRuns.after(name, begun, ended);
      return { polledAt: asOf, ...CURRENT, nextPollAt, keeps: { begun, ended } };
    };
  }

  /**
   * When the collection is due next. A full walk stays due until one has ended that began after it was due: a poll does
   * not put it off, nor does a walk that went on from before.
   * @param next the poll with whose moment the reading was to end, in place of the first one after its end: a reading
   *   that ends a moment later would leave that one out
   */
  runsAfter(name: CollectionName, what: 'poll' | 'full', begun: Date, next?: Date): CollectionChange {
    const ended = new Date(this.#clock.now());
    const { nextPollAt: following, nextFullAt } = this.#line(name, ended);
    const nextPollAt = next ?? following;
    const keeps = { begun, ended };
    return what === 'poll' ? { nextPollAt, keeps } : { nextPollAt, nextFullAt, keeps };
  }
}
