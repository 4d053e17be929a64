import type { Clock } from '@research-mirror/runtime/clock';
import { READS } from '../service/rate-groups.ts';
import type { CollectionChange, ReadTotals } from '../model/sync-events.ts';
import type { CollectionName } from '../model/collections.ts';
import type { AccountSource } from './account-source.ts';
import type { RunsAfter } from './schedule.ts';

export const CURRENT = { state: 'current', failure: null } satisfies CollectionChange;

/** Least time between two polls of a collection, ms. */
const LEAST_MS = 15_000;
/** The interval is the time since a poll last found a change, divided by this; a change costs at most 75 more polls. */
const POLLS_WHILE_QUIET = 40;
/** Lists that count as one page of a poll when the rate is shared. */
const LISTS_PER_PAGE = 16;
/** Longest gap of a cron line that early polls fill, ms: a line with longer ones asks for fewer requests. */
const LONGEST_GAP_MS = 300_000;

/**
 * How long after a poll the next one may begin, ms, if the cron line's next run is later. Polls together take at most
 * half of the rate, and less if there are many lists.
 * @param quietMs since a poll last found a change that no event had announced; Infinity: it never did
 * @param pages of one poll of each collection; `perMinute`: requests that the account may send
 */
export function earlyPollAfter(
  quietMs: number,
  { pages, lists, perMinute }: Readonly<Record<'pages' | 'lists' | 'perMinute', number>>,
): number {
  const halfTheRateMs = (2 * (pages + lists / LISTS_PER_PAGE) * 60_000) / perMinute;
  return Math.max(LEAST_MS, halfTheRateMs, quietMs / POLLS_WHILE_QUIET);
}

/** A collection that was not polled yet. In memory only, so that a restart begins with the line's polls. */
const NOT_POLLED = {
  /** When the poll began that last found a change which no event had announced, ms. */
  changedAt: Number.NEGATIVE_INFINITY,
  /** The line's next run after the last poll, ms. */
  lineAt: 0,
  /** Pages of the last poll. */
  pages: 1,
};

/**
 * What `freshness` says of collections that were read, and when they are due next: with their cron lines, or earlier
 * after a change that no event announced (docs/design/plan.md, "Polls between the line's runs"). Next runs are stored,
 * so a quiet account costs no timer and no request.
 */
export class EarlyRuns {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #line: RunsAfter;
  readonly #source: Pick<AccountSource, 'sizeOf'>;
  readonly #polled = new Map<CollectionName, typeof NOT_POLLED>();
  #lists = 0;

  constructor(clock: Pick<Clock, 'now'>, source: Pick<AccountSource, 'sizeOf'>, line: RunsAfter) {
    this.#clock = clock;
    this.#source = source;
    this.#line = line;
  }

  /** The change that a good reading makes. */
  onRead(name: CollectionName, what: 'poll' | 'full'): (asOf: Date, began: Date) => CollectionChange {
    return (asOf, began) => ({ polledAt: asOf, ...CURRENT, ...this.runsAfter(name, what, began) });
  }

  /** The same for a poll: the next one may come before its line's. (Full walks would follow each other.) */
  onPoll(name: CollectionName): ReturnType<EarlyRuns['onRead']> {
    return (asOf, began) => ({ polledAt: asOf, ...CURRENT, ...this.#pollAfter(name, began) });
  }

  /**
   * When the collection is due next. A full walk stays due until one has ended that began after it was due: neither a
   * poll nor a walk that resumed an earlier one puts it off.
   * @param next the poll before which the reading was to end; default: the first one after its end. A reading that
   *   ends a moment too late would skip that poll
   */
  runsAfter(name: CollectionName, what: 'poll' | 'full', begun: Date, next?: Date): CollectionChange {
    const ended = new Date(this.#clock.now());
    const { nextPollAt: following, nextFullAt } = this.#line(name, ended);
    const nextPollAt = next ?? following;
    const keeps = { begun, ended };
    return what === 'poll' ? { nextPollAt, keeps } : { nextPollAt, nextFullAt, keeps };
  }

  /** Notes how many lists the account has. */
  noteLists(count: number): void {
    this.#lists = count;
  }

  /**
   * Notes what a poll found that no event announced.
   * @returns the change if the next poll comes sooner than the poll's end stored; undefined otherwise
   */
  notePoll(
    name: CollectionName,
    began: Date,
    { pages, inserted, updated }: Pick<ReadTotals, 'pages' | 'inserted' | 'updated'>,
  ): CollectionChange | undefined {
    const polled = this.#polledOf(name);
    polled.pages = pages;
    if (inserted + updated === 0) return undefined;
    const before = this.#pollAfter(name, began);
    polled.changedAt = began.getTime();
    const after = this.#pollAfter(name, began);
    const isSooner = (after.nextPollAt?.getTime() ?? 0) < (before.nextPollAt?.getTime() ?? 0);
    return isSooner ? after : undefined;
  }

  /** Whether a poll that the schedule begins now comes before the line's next run. */
  isEarly(name: CollectionName): boolean {
    return this.#clock.now() < this.#polledOf(name).lineAt;
  }

  #polledOf(name: CollectionName): typeof NOT_POLLED {
    const known = this.#polled.get(name) ?? { ...NOT_POLLED };
    this.#polled.set(name, known);
    return known;
  }

  #pollAfter(name: CollectionName, begun: Date): CollectionChange {
    const ended = new Date(this.#clock.now());
    const { nextPollAt } = this.#line(name, ended);
    const keeps = { begun, ended };
    const polled = this.#polledOf(name);
    polled.lineAt = nextPollAt?.getTime() ?? 0;
    const at = begun.getTime();
    if (polled.lineAt - at > LONGEST_GAP_MS) return { nextPollAt, keeps };
    const pages = [...this.#polled.values()].reduce((sum, each) => sum + each.pages, 0);
    const load = { pages, lists: this.#lists, perMinute: this.#source.sizeOf(READS) };
    const early = Math.max(at + earlyPollAfter(at - polled.changedAt, load), ended.getTime() + 1);
    return { nextPollAt: early < polled.lineAt ? new Date(early) : nextPollAt, keeps };
  }
}
