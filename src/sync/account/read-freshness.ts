import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { EarlyRuns } from './early-runs.ts';
import type { Clock } from '@research-mirror/runtime/clock';

export const CURRENT = { state: 'current', failure: null } satisfies CollectionChange;

/** What `freshness` says of collections that were read. */
export class ReadFreshness {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #earlyRuns: EarlyRuns;

  constructor(clock: Pick<Clock, 'now'>, earlyRuns: EarlyRuns) {
    this.#clock = clock;
    this.#earlyRuns = earlyRuns;
  }

  /** The change that a good reading makes. */
  onRead(name: CollectionName, what: 'poll' | 'full'): (asOf: Date, began: Date) => CollectionChange {
    return (asOf, began) => ({ polledAt: asOf, ...CURRENT, ...this.runsAfter(name, what, began) });
  }

  /**
   * When the collection is due next. A full walk stays due until one has ended that began after it was due: a poll does
   * not put it off, nor does a walk that went on from before.
   * @param next the poll with whose moment the reading was to end, in place of the first one after its end: a reading
   *   that ends a moment later would leave that one out
   */
  runsAfter(name: CollectionName, what: 'poll' | 'full', begun: Date, next?: Date): CollectionChange {
    const ended = new Date(this.#clock.now());
    const { nextPollAt: following, nextFullAt } = this.#earlyRuns.after(name, begun, ended);
    const nextPollAt = next ?? following;
    const keeps = { begun, ended };
    return what === 'poll' ? { nextPollAt, keeps } : { nextPollAt, nextFullAt, keeps };
  }
}
