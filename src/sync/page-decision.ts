import { type SuspectChange, NO_SUSPECTS } from '../model/absence.ts';
import {
  type Decision,
  type ObservedPage,
  type PageWrite,
  STAMP_EVERY_MS,
  type Unseen,
} from '../mirror/page-write.ts';
import type { CollectionChange, WalkEnd } from '../model/sync-events.ts';
import { type Scope, scopeName } from '../model/collections.ts';
import type { Item, Served } from '../model/page.ts';
import { checkpoint } from '../walk/checkpoint.ts';
import { judgePage } from '../walk/proof.ts';
import { isWorthStoring, noteWritten, type ScopeMemory } from '../walk/memory.ts';
import type { WrittenRow } from '../walk/order.ts';
import type { WholeWalk } from '../walk/pair.ts';
import type { End, TakenPage, Walk } from '../walk/walk.ts';
import { addTotals, type AtEnd, type ReadTotals, totalsOf } from './walk-result.ts';

/** A page as its walk took it, before it is written. */
export interface PageStep
  extends Pick<PageWrite, 'scope' | 'obs' | 'items' | 'hashes' | 'sentAfter'>, Omit<AtEnd, 'memory'> {
  /** When this run of the walk began. */
  readonly startedAt: Date;
  /** When its first request was sent, by the database's clock; undefined: that was this page's. */
  readonly firstSentAt: Date | undefined;
  /** Of this run of the walk, without the changes by this page. */
  readonly totals: ReadTotals;
  /** The scope's memory as stored. */
  readonly before: ScopeMemory;
  readonly walk: Walk;
  /** The scope's memory as the step left it. */
  readonly memory: ScopeMemory;
  /** What the page says of absence; undefined where there is no page: the request was refused. */
  readonly page: TakenPage | undefined;
  /** What its answer said of caches on the way; left out: not known. */
  readonly served?: Served | undefined;
  /** Given when the walk ends with this page. */
  readonly end: End | undefined;
  /** Least time between two proofs, milliseconds. */
  readonly gracePeriodMs: number;
  /** When the scope's last reading began that has ended. */
  readonly lastReadAt: Date | undefined;
  /** As `WalkOptions.early`. */
  readonly early: boolean;
}

/** What is stored with a page, and what its walk goes on with. */
export interface Decided {
  readonly decision: Decision;
  /** The scope's memory from then on. */
  readonly memory: ScopeMemory;
  /** Everything is mirrored as of then, once a proof confirms that the page is the account's own. */
  readonly completeAsOf: Date | undefined;
  /** Rows are missing that came or changed too lately to be suspected: the next walk decides. */
  readonly overlooks: boolean;
}

/**
 * Decides that by what the page was to the mirror. Pure.
 * @param whole the whole walk that ends with the page, to be compared with a later one; null where there is none
 * @param badItems hashes of items in quarantine seen since the full walk began; left out: not known
 */
export function decide(
  step: PageStep,
  observed: ObservedPage,
  whole: WholeWalk | null,
  badItems?: ReadonlySet<string>,
): Decided {
  const suspectChange = suspectsIn(step, observed);
  const taken = isBelieved(step, observed, suspectChange) ? step : withoutPoll(step);
  const { end, walk } = taken;
  const noted = noteWritten(taken.memory, writtenRows(taken.items, observed));
  const wholeEnds = walk.kind === 'full' && end?.outcome === 'complete';
  const left = !wholeEnds || noted.whole === whole ? noted : { ...noted, whole };
  const memory = isWorthStoring(taken.before, left) ? left : taken.before;
  const completeAsOf = completeFrom(taken, observed, suspectChange);
  const unseen = unseenBy(taken, observed, badItems);
  const scope: Decision['scope'] = {
    ...(memory === taken.before ? {} : { memory }),
    // A poll's progress is in the memory (its open part), and an interrupted refresh is simply due again.
    ...(walk.kind === 'full' ? { fullWalk: end === undefined ? checkpoint(walk) : null } : {}),
    ...(end === undefined ? {} : readUpTo(taken, end, observed)),
  };
  const decision: Decision = {
    scope,
    ...(isNothing(suspectChange) ? {} : { suspectChange }),
    ...(unseen === undefined ? {} : { unseen }),
    ...(end === undefined ? {} : { walkEnd: walkEnd(taken, end, observed) }),
  };
  const known = new Set([...observed.suspects, ...suspectChange.add].map(({ key }) => key));
  const overlooks = observed.missing.some(({ key }) => !known.has(key));
  return { decision, memory, completeAsOf, overlooks };
}

function suspectsIn({ page, served, items, gracePeriodMs }: PageStep, observed: ObservedPage): SuspectChange {
  if (page === undefined) return NO_SUSPECTS;
  const keyed = items.flatMap(({ key }, index) =>
    key === undefined ? [] : [{ key, outcome: observed.outcomes[index] }],
  );
  return judgePage({
    proof: page.proof,
    contradiction: page.contradiction,
    sentAt: observed.sentAt.getTime(),
    served,
    seen: keyed.map(({ key }) => key),
    deferred: keyed.filter(({ outcome }) => outcome === 'deferred').map(({ key }) => key),
    missing: observed.missing,
    suspects: observed.suspects,
    gracePeriodMs,
  });
}

/** Whether the mirror has every row as the walk saw it: no row waits for a second sighting. */
function isBelieved(
  { unbelieved = [] }: PageStep,
  { outcomes }: ObservedPage,
  { withdraw }: SuspectChange,
): boolean {
  return !outcomes.includes('deferred') && unbelieved.every((key) => withdraw.includes(key));
}

/** The page without its `polledAt`: the next poll after the second sighting moves that. */
function withoutPoll(step: PageStep): PageStep {
  const { collection } = step;
  return { ...step, polledAt: undefined, collection: collection && withoutPolledAt(collection) };
}

/** The change of `freshness` while a row is not believed: `polled_at` stays as it is. */
export function withoutPolledAt(change: CollectionChange): CollectionChange {
  const { polledAt: _, ...rest } = change;
  return rest;
}

function isNothing({ add, prove, withdraw, withdrawOrdered }: SuspectChange): boolean {
  return add.length === 0 && prove.length === 0 && withdraw.length === 0 && !withdrawOrdered;
}

/**
 * One answer that is the whole scope, and lacks no row, makes everything mirrored as of then, less the grace period,
 * by which a replica may lag. Other walks know it only after their second proofs. A later proof must show that the
 * answer was the account's own.
 */
function completeFrom(
  { page, end, gracePeriodMs, startedAt, walk }: PageStep,
  { suspects, missing, sentAt }: ObservedPage,
  { add, withdraw }: SuspectChange,
): Date | undefined {
  const whole = page?.proof?.kind === 'snapshot' && end?.outcome === 'complete';
  if (!whole || add.length > 0 || missing.length > 0) return undefined;
  const withdrawn = new Set(withdraw);
  if (suspects.some(({ key }) => !withdrawn.has(key))) return undefined;
  return new Date(Math.max(sentAt.getTime(), startedAt.getTime() - walk.agedMs) - gracePeriodMs);
}

/**
 * What a complete reading says of items in quarantine that it did not see: they are gone, unless they were seen too
 * shortly before it. A walk that was resumed in another process knows only when they were seen.
 */
function unseenBy(
  { page, end, walk, startedAt, firstSentAt, gracePeriodMs }: PageStep,
  { sentAt, quarantined }: ObservedPage,
  badItems: ReadonlySet<string> | undefined,
): Unseen | undefined {
  // An end with a status came without a page.
  if (end?.outcome !== 'complete' || end.status !== undefined) return undefined;
  const graceBefore = (moment: Date): Date => new Date(moment.getTime() - gracePeriodMs);
  const whole = page?.place.after === null && page.place.ends;
  if (whole) return { seen: quarantined, before: graceBefore(sentAt) };
  if (walk.kind !== 'full') return undefined;
  const began = surelyBegan(walk, startedAt, firstSentAt ?? sentAt);
  if (badItems !== undefined) return { seen: [...badItems], before: graceBefore(began) };
  return { seen: quarantined, before: new Date(graceBefore(began).getTime() - STAMP_EVERY_MS) };
}

/** How the end of a walk changes its scope; a failure is stored with its message. */
function readUpTo(taken: PageStep, end: End, { at, sentAt }: ObservedPage): Decision['scope'] {
  if (end.outcome === 'failed') return { failure: { message: failureOf(taken, end), at } };
  // A confirming walk reads suspects: it says nothing of new rows.
  if (end.outcome === 'full-needed' || (taken.walk.kind === 'confirm' && end.outcome !== 'complete'))
    return {};
  const began = new Date(taken.walk.began);
  const isWhole = end.outcome === 'complete' || taken.walk.kind === 'full';
  return {
    lastReadAt: latestReading(taken, at),
    // Scopes come due by the database's clock.
    clearDueUntil: surelyBegan(taken.walk, taken.startedAt, taken.firstSentAt ?? sentAt),
    failure: null,
    ...(taken.polledAt === undefined ? {} : { polledAt: taken.polledAt }),
    ...(isWhole ? { fullAt: began } : {}),
  };
}

/**
 * Polls began while a full walk went on: its end does not take that back, or the time since then would be counted
 * twice. A moment that lies ahead counts for nothing: the clock went back.
 */
function latestReading({ walk, lastReadAt }: PageStep, at: Date): Date {
  const began = new Date(walk.began);
  const isLater = lastReadAt !== undefined && lastReadAt > began && lastReadAt <= at;
  return walk.kind === 'full' && isLater ? lastReadAt : began;
}

const OUTCOMES = {
  complete: 'completed',
  reached: 'completed',
  'full-needed': 'full-needed',
  failed: 'failed',
};

function walkEnd(taken: PageStep, end: End, observed: ObservedPage): WalkEnd {
  const { scope, startedAt, walk, totals } = taken;
  // It is not known yet whether a refused list is gone (read-lists.ts).
  const unknown = scope.parent !== '' && (end.status === 404 || end.status === 410);
  const error = end.outcome === 'failed' && !unknown ? failureOf(taken, end) : undefined;
  const collection = error === undefined ? taken.collection : failing(scope, error, observed.at);
  const all = addTotals(totals, totalsOf(observed.counts));
  return {
    scope,
    kind: walk.kind,
    startedAt,
    outcome: unknown ? 'not-found' : OUTCOMES[end.outcome],
    totals: all,
    ...(taken.early && isUneventful(end, all) ? { unlogged: true } : {}),
    ...(error === undefined ? {} : { error }),
    ...(collection === undefined || Object.keys(collection).length === 0 ? {} : { collection }),
  };
}

/** It went well, and nothing was written. */
function isUneventful({ outcome }: End, totals: ReadTotals): boolean {
  const { inserted, updated, quarantined, rateLimited } = totals;
  const well = outcome === 'reached' || outcome === 'complete';
  return well && inserted + updated + quarantined + rateLimited === 0;
}

/** The failure of a collection whose walk failed; one list among many says nothing of its collection. */
export function failing(scope: Scope, message: string, at: Date): CollectionChange | undefined {
  return scope.parent === '' ? { state: 'failing', failure: { message, at } } : undefined;
}

function failureOf({ scope }: PageStep, end: End): string {
  return `${scopeName(scope)}: ${end.reason ?? 'the walk failed'}`;
}

/** The page's rows that the mirror has now as the page has them, in the page's order. */
function writtenRows(items: readonly Item[], { outcomes }: ObservedPage): WrittenRow[] {
  return items.flatMap((item, index) => {
    const outcome = outcomes[index];
    const mirrored =
      outcome !== undefined && outcome !== 'quarantined' && outcome !== 'duplicate' && outcome !== 'deferred';
    if (item.key === undefined || !mirrored) return [];
    const known = outcome !== 'inserted' && outcome !== 'undeleted';
    return [{ key: item.key, known, changed: outcome !== 'unchanged' }];
  });
}

/**
 * When a walk began: what it reads counts as of then. A resumed walk keeps its first beginning, however long this run
 * waited for its first slot. An answer from a cache counts as of when the cache got it.
 * @param startedAt when this run of the walk began
 * @param firstSentAt when its first request was sent, less the answer's age; too early by at most the way of an
 *   answer. Both are never late, so the later one is nearer
 */
export function walkBegan(
  { began, agedMs }: Pick<Walk, 'began' | 'agedMs'>,
  startedAt: Date,
  firstSentAt: Date,
): Date {
  const started = startedAt.getTime();
  if (began !== started) return new Date(Math.min(began, started) - agedMs);
  return new Date(Math.max(started - agedMs, firstSentAt.getTime()));
}

/**
 * A moment that is surely not after the walk's beginning, even if this process takes the database's clock to be later
 * than it is: the database itself dates the first request. What was noted before this moment may be cleared by the
 * walk.
 * @param startedAt and
 * @param firstSentAt as in `walkBegan`
 */
export function surelyBegan(walk: Pick<Walk, 'began' | 'agedMs'>, startedAt: Date, firstSentAt: Date): Date {
  const began = walkBegan(walk, startedAt, firstSentAt);
  return began < firstSentAt ? began : firstSentAt;
}
