import type { Clock } from '@research-mirror/runtime/clock';
import { READS } from '../service/rate-groups.ts';
import type { CollectionChange, ReadTotals } from '../model/sync-events.ts';
import type { CollectionName } from '../model/collections.ts';
import type { RunsAfter } from './schedule.ts';

export const CURRENT = { state: 'current', failure: null } satisfies CollectionChange;

/** Least time (ms) between two polls of a collection. */
const LEAST_MS = 15_000;
/**
 * The interval is this part of the time since a poll last found a change, so it doubles as that time does. After 40
 * minutes it is that of a line of each minute; a change costs 75 polls at most beyond the line's.
 */
const POLLS_WHILE_QUIET = 40;
/** Of the other half of the rate: so many lists leave early polls as much as one page of a poll. */
const LISTS = 16;
/** A line whose next run is further away (ms) has no polls before it: somebody wants fewer requests just then. */
const LONGEST_GAP_MS = 300_000;

/**
 * How long (ms) after a poll the next one may begin, where that is before its line's next run. Polls together take half
 * of the rate at most, and less where many lists have to share the rest.
 * @param quietMs since a poll last found a change that no event had announced; Infinity: it never did
 * @param pages of one poll of each collection; `perMinute`: requests that the account may send
 */
export function earlyPollAfter(
  quietMs: number,
  { pages, lists, perMinute }: Readonly<Record<'pages' | 'lists' | 'perMinute', number>>,
): number {
  const halfTheRateMs = (2 * (pages + lists / LISTS) * 60_000) / perMinute;
  return Math.max(LEAST_MS, halfTheRateMs, quietMs / POLLS_WHILE_QUIET);
}

/** What is known of a collection's polls: in memory alone, so that a restart begins with the line's. */
interface Polled {
  /** When the poll began that last found a change which nothing had announced (ms). */
  changedAt: number;
  /** The line's next run after the last poll (ms). */
  lineAt: number;
  /** Of the last poll. */
  pages: number;
}

/**
 * What `freshness` says of collections that were read, and when they are due next: with their cron lines, or before,
 * after a change that no event announced (docs/design/plan.md, "Polls between the line's runs"). Next runs are stored,
 * so an account where nothing happens has neither a timer nor a request more.
 */
export class EarlyRuns {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #line: RunsAfter;
  readonly #perMinute: () => number;
  /** Of collections that are one scope: a handful. */
  readonly #polled = new Map<CollectionName, Polled>();
  #lists = 0;

  constructor(
    clock: Pick<Clock, 'now'>,
    source: { readonly sizeOf: (group: typeof READS) => number },
    line: RunsAfter,
  ) {
    this.#clock = clock;
    this.#perMinute = () => source.sizeOf(READS);
    this.#line = line;
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
    return (asOf, begun) => ({ polledAt: asOf, ...CURRENT, ...this.#pollAfter(name, begun) });
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

  /** How many lists the account has. */
  noteLists(count: number): void {
    this.#lists = count;
  }

  /**
   * What a poll has shown that no event asked for.
   * @returns what its end could not know yet: that the next poll comes sooner; undefined: as it was stored
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

  /** Whether a poll that the schedule begins now is one before the line's. */
  isEarly(name: CollectionName): boolean {
    return this.#clock.now() < this.#polledOf(name).lineAt;
  }

  #polledOf(name: CollectionName): Polled {
    const known = this.#polled.get(name) ?? { changedAt: Number.NEGATIVE_INFINITY, lineAt: 0, pages: 1 };
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
    const load = { pages, lists: this.#lists, perMinute: this.#perMinute() };
    const early = Math.max(at + earlyPollAfter(at - polled.changedAt, load), ended.getTime() + 1);
    return { nextPollAt: early < polled.lineAt ? new Date(early) : nextPollAt, keeps };
  }
}
