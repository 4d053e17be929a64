import type { Clock } from '@research-mirror/runtime/clock';
import { rateGroup } from '../../budget/rate-groups.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { CollectionName } from '../../model/collections.ts';
import { type LearntChanges, NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import { countsFrom, earlyPolls, earnsAfter, LONGEST_GAP_MS } from '../../plan/early-polls.ts';

/** When a collection’s cron lines poll and walk it next, after `after`. */
export type RunsAfter = (
  name: CollectionName,
  after: Date,
) => Required<Pick<CollectionChange, 'nextPollAt' | 'nextFullAt'>>;

export const CURRENT = { state: 'current', failure: null } satisfies CollectionChange;

/** All reads are of one endpoint group. */
const READS = rateGroup('GET', '/v1/research');
/** Least time (ms) between two polls of a collection: due runs are looked for each second. */
const LEAST_MS = 2_000;

/**
 * What `freshness` says of collections that were read, and when they are due next: with their cron lines; or, those that
 * change so often that requests which nobody else needs are well spent on them, before (docs/design/plan.md, "Polls
 * between the line's runs"). Next runs are stored, so an account where nothing happens has neither a timer nor a request
 * more.
 */
export class EarlyRuns {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #line: RunsAfter;
  readonly #perMinute: () => number;
  readonly #turns: { readonly readsBelowPolls: () => boolean };
  /** Of collections that are one scope: a handful. */
  readonly #learnt = new Map<CollectionName, LearntChanges>();
  /** Next polls: when they are to begin, and the line's next one. */
  readonly #next = new Map<CollectionName, { readonly at: number; readonly lineAt: number }>();
  #lists: { readonly name: CollectionName; readonly count: number } | undefined;
  #costOfLists = NOTHING_LEARNT.cost;
  #needOfLists: number | undefined;

  constructor(
    clock: Pick<Clock, 'now'>,
    source: { readonly sizeOf: (group: typeof READS) => number },
    line: RunsAfter,
    turns: { readonly readsBelowPolls: () => boolean },
  ) {
    this.#clock = clock;
    this.#perMinute = () => source.sizeOf(READS);
    this.#line = line;
    this.#turns = turns;
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
      const { nextPollAt } = this.after(name, begun, ended);
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

  /** What the collection's readings have shown so far. */
  note(name: CollectionName, learnt: LearntChanges): void {
    this.#learnt.set(name, learnt);
  }

  /** How many lists a collection of lists' items has. */
  noteLists(name: CollectionName, count: number): void {
    this.#lists = { name, count };
  }

  /**
   * What a reading of a list takes on average: what all of them take is that, times how many there are. That number is
   * known with each poll of their rows, the cost with each run of them.
   */
  noteCostOfLists(requests: number): void {
    this.#costOfLists = requests;
  }

  /** Σ √(k·q·λ) of all lists, where they are many (src/plan/early-polls.ts). */
  noteNeedOfLists(need: number): void {
    this.#needOfLists = need;
  }

  /** Whether a poll that the schedule begins now is one before the line's. */
  isEarly(name: CollectionName, now: number): boolean {
    return now < (this.#next.get(name)?.lineAt ?? 0);
  }

  /** The next runs after a poll that began then and ends now. */
  after(name: CollectionName, began: Date, ended: Date): ReturnType<RunsAfter> {
    const line = this.#line(name, ended);
    const { nextPollAt } = line;
    if (nextPollAt === null) {
      this.#next.delete(name);
      return line;
    }
    const lineAt = nextPollAt.getTime();
    const early = this.#earlyPoll(name, began, ended, lineAt);
    const isEarly = early < lineAt;
    this.#next.set(name, isEarly ? { at: early, lineAt } : { at: lineAt, lineAt: 0 });
    return isEarly ? { ...line, nextPollAt: new Date(early) } : line;
  }

  /** When (ms) another poll is worth its requests; Infinity, or any moment from `next` on: not before the line's. */
  #earlyPoll(name: CollectionName, began: Date, ended: Date, next: number): number {
    // In a quiet account this is all.
    if ([...this.#learnt.values()].every((learnt) => earnsAfter(learnt) >= LONGEST_GAP_MS)) return Infinity;
    if (next - began.getTime() > LONGEST_GAP_MS || this.#gapOf(name, ended) > LONGEST_GAP_MS) return Infinity;
    const interval = this.#intervalOf(name, ended);
    const at = began.getTime();
    const from = countsFrom(this.#next.get(name)?.at ?? at, at, interval);
    return Math.max(from + interval, at + LEAST_MS, ended.getTime() + 1);
  }

  #intervalOf(name: CollectionName, now: Date): number {
    const names = [...this.#learnt.keys()];
    const polled = [...this.#learnt].map(([each, learnt]) => ({ learnt, lineMs: this.#gapOf(each, now) }));
    const lists =
      this.#lists === undefined
        ? undefined
        : {
            requests: this.#lists.count * this.#costOfLists,
            lineMs: this.#gapOf(this.#lists.name, now),
            need: this.#needOfLists,
          };
    const spendable = { perMinute: this.#perMinute(), readsBelow: this.#turns.readsBelowPolls() };
    return earlyPolls(polled, lists, spendable)[names.indexOf(name)] ?? Infinity;
  }

  /** From the line's first poll after a moment to its second (ms); Infinity: it has none. */
  #gapOf(name: CollectionName, after: Date): number {
    const first = this.#line(name, after).nextPollAt;
    const second = first === null ? null : this.#line(name, first).nextPollAt;
    return first === null || second === null ? Number.POSITIVE_INFINITY : second.getTime() - first.getTime();
  }
}
