import { rateGroup } from '../../budget/rate-groups.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { LearntChanges } from '../../plan/learnt-changes.ts';
import { earlyPolls, freeForEarlyPolls } from '../../plan/early-polls.ts';

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
  #lists = 0;

  constructor(source: { readonly sizeOf: (group: typeof READS) => number }, line: RunsAfter) {
    this.#perMinute = () => source.sizeOf(READS);
    this.#line = line;
  }

  /** What the collection's readings have shown so far. @param lists how many lists it has, where it is theirs */
  note(name: CollectionName, learnt: LearntChanges, lists: number | undefined): void {
    this.#learnt.set(name, learnt);
    if (lists !== undefined) this.#lists = lists;
  }

  /** The next runs after a poll that began then and ends now. */
  after(name: CollectionName, began: Date, ended: Date): ReturnType<RunsAfter> {
    const line = this.#line(name, ended);
    const { nextPollAt } = line;
    const names = [...this.#learnt.keys()];
    if (nextPollAt === null || !this.#learnt.has(name)) return line;
    const following = this.#line(name, nextPollAt).nextPollAt;
    if (following === null) return line;
    const learnt = [...this.#learnt.values()];
    const lineMs = following.getTime() - nextPollAt.getTime();
    const free = freeForEarlyPolls(learnt, lineMs, { perMinute: this.#perMinute(), lists: this.#lists });
    const interval = earlyPolls(learnt, free)[names.indexOf(name)] ?? Number.POSITIVE_INFINITY;
    const early = Math.max(began.getTime() + Math.max(LEAST_MS, interval), ended.getTime() + 1);
    return early < nextPollAt.getTime() ? { ...line, nextPollAt: new Date(early) } : line;
  }
}
