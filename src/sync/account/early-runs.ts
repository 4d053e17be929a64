import { rateGroup } from '../../budget/rate-groups.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { LearntChanges } from '../../plan/learnt-changes.ts';
import { earlyPolls, freeForEarlyPolls, LONGEST_GAP_MS, worthAfter } from '../../plan/early-polls.ts';

/** When a collection’s cron lines poll and walk it next, after `after`. */
export type RunsAfter = (
  name: CollectionName,
  after: Date,
) => Required<Pick<CollectionChange, 'nextPollAt' | 'nextFullAt'>>;

/** All reads are of one endpoint group. */
const READS = rateGroup('GET', '/v1/research');
/** Least time (ms) between two polls of a collection: due runs are looked for each second. */
const LEAST_MS = 2_000;
/**
 * Next polls before the cron line's, of collections that change so often that requests which nobody else needs are
 * well spent on them (docs/design/plan.md, "Polls between the line's runs"). They are stored as next runs, so an
 * account where nothing happens has neither a timer nor a request more.
 */
export class EarlyRuns {
  readonly #line: RunsAfter;
  readonly #perMinute: () => number;
  /** Of collections that are one scope: a handful. */
  readonly #learnt = new Map<CollectionName, LearntChanges>();
  /** The line's next polls of collections whose next one is to come before that. */
  readonly #early = new Map<CollectionName, Date>();
  #lists: { readonly name: CollectionName; readonly count: number } | undefined;

  constructor(source: { readonly sizeOf: (group: typeof READS) => number }, line: RunsAfter) {
    this.#perMinute = () => source.sizeOf(READS);
    this.#line = line;
  }

  /** What the collection's readings have shown so far. */
  note(name: CollectionName, learnt: LearntChanges): void {
    this.#learnt.set(name, learnt);
  }

  /** How many lists a collection of lists' items has. */
  noteLists(name: CollectionName, count: number): void {
    this.#lists = { name, count };
  }

  /** Whether a poll that the schedule begins now is one before the line's. */
  isEarly(name: CollectionName, now: number): boolean {
    return now < (this.#early.get(name)?.getTime() ?? 0);
  }

  /** The next runs after a poll that began then and ends now. */
  after(name: CollectionName, began: Date, ended: Date): ReturnType<RunsAfter> {
    const line = this.#line(name, ended);
    const { nextPollAt } = line;
    const early = nextPollAt === null ? Infinity : this.#earlyPoll(name, began, ended, nextPollAt);
    if (nextPollAt === null || early >= nextPollAt.getTime()) {
      this.#early.delete(name);
      return line;
    }
    this.#early.set(name, nextPollAt);
    return { ...line, nextPollAt: new Date(early) };
  }

  /** When (ms) another poll is worth its requests; Infinity, or any moment from `next` on: not before the line's. */
  #earlyPoll(name: CollectionName, began: Date, ended: Date, next: Date): number {
    const own = this.#learnt.get(name);
    const before = next.getTime() - began.getTime();
    // In a quiet collection this is all.
    if (own === undefined || worthAfter(own) >= before) return Infinity;
    if (before > LONGEST_GAP_MS || this.#gapOf(name, ended) > LONGEST_GAP_MS) return Infinity;
    const names = [...this.#learnt.keys()];
    const polled = [...this.#learnt].map(([each, { cost }]) => ({ cost, lineMs: this.#gapOf(each, ended) }));
    const listsPerMs =
      this.#lists === undefined ? 0 : this.#lists.count / this.#gapOf(this.#lists.name, ended);
    const free = freeForEarlyPolls(polled, { perMinute: this.#perMinute(), listsPerMs });
    const interval = earlyPolls([...this.#learnt.values()], free)[names.indexOf(name)] ?? Infinity;
    return Math.max(began.getTime() + Math.max(LEAST_MS, interval), ended.getTime() + 1);
  }

  /** From the line's first poll after a moment to its second (ms); Infinity: it has none. */
  #gapOf(name: CollectionName, after: Date): number {
    const first = this.#line(name, after).nextPollAt;
    const second = first === null ? null : this.#line(name, first).nextPollAt;
    return first === null || second === null ? Number.POSITIVE_INFINITY : second.getTime() - first.getTime();
  }
}
