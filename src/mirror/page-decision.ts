/** Pure: what is stored with a page, from its record and from what its transaction found. */

import { NO_SUSPECTS, type SuspectChange } from '../model/absence.ts';
import { type Scope, scopeName } from '../model/collections.ts';
import { addTotals, type CollectionChange, type ReadTotals, totalsOf, type WalkEnd } from '../model/sync-events.ts';
import { checkpoint } from '../walk/checkpoint.ts';
import { isWorthStoring, noteWritten, type WrittenRow } from '../walk/memory.ts';
import { judgePage } from '../walk/proof.ts';
import type { End, Walk } from '../walk/walk.ts';
import {
  type AtEnd,
  type PageDecision,
  type ObservedPage,
  type PageRecord,
  type ScopeChange,
  STAMP_EVERY_MS,
  type Unseen,
} from './page-record.ts';

/**
 * Decides what is stored with a page. It does no I/O, and a repeated call for the same page gives the same result.
 * @param gracePeriodMs `MIRROR_SETTLE`: least time between two proofs
 */
export function decide(record: PageRecord, observed: ObservedPage, gracePeriodMs: number): PageDecision {
  const { walk, memory: of } = record;
  const suspectChange = suspectsIn(record, observed, gracePeriodMs);
  const isBelieved = allBelieved(record, observed, suspectChange);
  const end = record.end === undefined || isBelieved ? record.end : withoutPoll(record.end);
  const whole = wholeWalk(record, observed);
  let memory = of?.before;
  if (of !== undefined) {
    const noted = noteWritten(of.after, writtenRows(record, observed));
    const last = walk.kind === 'full' && end?.outcome === 'complete' ? (whole ?? null) : noted.whole;
    const left = noted.whole === last ? noted : { ...noted, whole: last };
    if (isWorthStoring(of.before, left)) memory = left;
  }
  const scope: ScopeChange = {
    ...(memory === of?.before ? {} : { memory }),
    // A poll's progress is in the memory (its open part); an interrupted refresh is due again.
    ...(walk.kind === 'full' ? { fullWalk: end === undefined ? checkpoint(walk) : null } : {}),
    ...(end === undefined ? {} : readUpTo(record, end, observed)),
  };
  const known = new Set([...observed.suspects, ...suspectChange.add].map(({ key }) => key));
  return {
    scope,
    suspectChange,
    unseen: unseenBy(record, observed, gracePeriodMs),
    walkEnd: end && walkEnd(record, end, observed),
    memory,
    whole,
    completeAsOf: completeFrom(record, observed, suspectChange, gracePeriodMs),
    overlooks: observed.missing.some(({ key }) => !known.has(key)),
  };
}

/** The whole walk that ends with the page. A snapshot needs no second walk. */
function wholeWalk({ end, taken, whole, firstSentAt }: PageRecord, { at, sentAt }: ObservedPage) {
  const judges = end?.outcome === 'complete' && taken.proof?.kind !== 'snapshot';
  return judges ? whole?.walk(firstSentAt ?? sentAt, at) : undefined;
}

function suspectsIn({ page, taken, walk }: PageRecord, observed: ObservedPage, gracePeriodMs: number): SuspectChange {
  if (page === undefined || walk.kind === 'single') return NO_SUSPECTS;
  const keyed = page.items.flatMap(({ key }, index) =>
    key === undefined ? [] : [{ key, outcome: observed.outcomes[index] }],
  );
  return judgePage({
    proof: taken.proof,
    contradiction: taken.contradiction,
    sentAt: observed.sentAt.getTime(),
    served: page.served,
    seen: keyed.map(({ key }) => key),
    deferred: keyed.filter(({ outcome }) => outcome === 'deferred').map(({ key }) => key),
    missing: observed.missing,
    suspects: observed.suspects,
    gracePeriodMs,
  });
}

/** Whether the mirror has every row as the walk saw it, with none waiting for a second sighting. */
function allBelieved({ end }: PageRecord, { outcomes }: ObservedPage, { withdraw }: SuspectChange): boolean {
  return !outcomes.includes('deferred') && (end?.unbelieved ?? []).every((key) => withdraw.includes(key));
}

/** The end without its `polledAt`: the next poll after the second sighting moves it. */
function withoutPoll(end: End & AtEnd): End & AtEnd {
  return { ...end, polledAt: undefined, collection: end.collection && withoutPolledAt(end.collection) };
}

/** The change of `freshness` without `polled_at`, while a row is not believed. */
function withoutPolledAt(change: CollectionChange): CollectionChange {
  const { polledAt: _, ...rest } = change;
  return rest;
}

/**
 * One answer that is the whole scope and lacks no row makes the scope complete as of then, less the grace period, by
 * which a replica may lag. Other walks know that only after their second proofs. A later proof has to show that the
 * answer belongs to the account.
 */
function completeFrom(
  { taken, end, startedAt, walk }: PageRecord,
  { suspects, missing, outcomes, sentAt }: ObservedPage,
  { add, withdraw }: SuspectChange,
  gracePeriodMs: number,
): Date | undefined {
  const whole = (walk.kind === 'single' || taken.proof?.kind === 'snapshot') && end?.outcome === 'complete';
  if (!whole || add.length > 0 || missing.length > 0 || outcomes.includes('deferred')) return undefined;
  const withdrawn = new Set(withdraw);
  if (suspects.some(({ key }) => !withdrawn.has(key))) return undefined;
  return new Date(Math.max(sentAt.getTime(), startedAt.getTime() - walk.agedMs) - gracePeriodMs);
}

/**
 * Items in quarantine that a complete reading did not see are gone, unless they were seen shortly before it. A walk
 * that was resumed in another process knows only when they were seen.
 */
function unseenBy(
  { taken, end, walk, startedAt, firstSentAt, badItems }: PageRecord,
  { sentAt, quarantined }: ObservedPage,
  gracePeriodMs: number,
): Unseen | undefined {
  // An end with a status has no page.
  if (end?.outcome !== 'complete' || end.status !== undefined) return undefined;
  const graceBefore = (moment: Date): Date => new Date(moment.getTime() - gracePeriodMs);
  const whole = taken.place.after === null && taken.place.ends;
  if (whole) return { seen: quarantined, before: graceBefore(sentAt) };
  if (walk.kind !== 'full') return undefined;
  const began = surelyBegan(walk, startedAt, firstSentAt ?? sentAt);
  if (badItems !== undefined) return { seen: [...badItems.union(new Set(quarantined))], before: graceBefore(began) };
  return { seen: quarantined, before: new Date(graceBefore(began).getTime() - STAMP_EVERY_MS) };
}

/** Changes of the scope at the end of its walk; a failure is stored with its message. */
function readUpTo(record: PageRecord, end: End & AtEnd, { at, sentAt }: ObservedPage): ScopeChange {
  const { walk, startedAt, firstSentAt } = record;
  if (end.outcome === 'failed') return { failure: { message: failureOf(record, end), at } };
  // A confirming walk reads suspects, not new rows.
  if (end.outcome === 'full-needed' || (walk.kind === 'confirm' && end.outcome !== 'complete')) return {};
  const began = new Date(walk.began);
  const isWhole = end.outcome === 'complete' || walk.kind === 'full';
  return {
    lastReadAt: latestReading(record, at),
    // Scopes come due by the database's clock. A single object is read by its cron line alone.
    ...(walk.kind === 'single' ? {} : { clearDueUntil: surelyBegan(walk, startedAt, firstSentAt ?? sentAt) }),
    failure: null,
    ...(end.polledAt === undefined ? {} : { polledAt: end.polledAt }),
    ...(isWhole ? { fullAt: began } : {}),
  };
}

/**
 * Start of the scope's latest reading. The end of a full walk does not take back the start of a later poll, or the time
 * since then would count twice. A moment in the future is ignored: the clock went back.
 */
function latestReading({ walk, lastReadAt }: PageRecord, at: Date): Date {
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

function walkEnd(record: PageRecord, end: End & AtEnd, observed: ObservedPage): WalkEnd {
  const { scope, startedAt, walk, totals } = record;
  // Whether a refused list is gone is not known yet (read-lists.ts).
  const unknown = scope.parent !== '' && (end.status === 404 || end.status === 410);
  const error = end.outcome === 'failed' && !unknown ? failureOf(record, end) : undefined;
  const collection = error === undefined ? end.collection : failing(scope, error, observed.at);
  const all = addTotals(totals, totalsOf(observed.counts));
  return {
    scope,
    kind: walk.kind,
    startedAt,
    outcome: unknown ? 'not-found' : OUTCOMES[end.outcome],
    totals: all,
    ...(record.early && isUneventful(end, all) ? { unlogged: true } : {}),
    ...(error === undefined ? {} : { error }),
    ...(collection === undefined || Object.keys(collection).length === 0 ? {} : { collection }),
  };
}

/** The walk succeeded and wrote nothing. */
function isUneventful({ outcome }: End, totals: ReadTotals): boolean {
  const { inserted, updated, quarantined, rateLimited } = totals;
  const well = outcome === 'reached' || outcome === 'complete';
  return well && inserted + updated + quarantined + rateLimited === 0;
}

/** The collection's failure after its walk failed; undefined for one list among many. */
export function failing(scope: Scope, message: string, at: Date): CollectionChange | undefined {
  return scope.parent === '' ? { state: 'failing', failure: { message, at } } : undefined;
}

function failureOf({ scope }: PageRecord, end: End): string {
  return `${scopeName(scope)}: ${end.reason ?? 'the walk failed'}`;
}

/** Rows that the mirror now has as the page has them, in the page's order. */
function writtenRows({ page }: PageRecord, { outcomes }: ObservedPage): WrittenRow[] {
  return (page?.items ?? []).flatMap((item, index) => {
    const outcome = outcomes[index];
    const mirrored =
      outcome !== undefined && outcome !== 'quarantined' && outcome !== 'duplicate' && outcome !== 'deferred';
    if (item.key === undefined || !mirrored) return [];
    const known = outcome !== 'inserted' && outcome !== 'undeleted';
    return [{ key: item.key, known, changed: outcome !== 'unchanged' }];
  });
}

/**
 * Start of a walk: what it reads counts as of then. A resumed walk keeps its first start, however long this run waited
 * for its first slot. An answer from a cache counts as of when the cache got it.
 * @param startedAt start of this run of the walk
 * @param firstSentAt time of its first request less the answer's age; too early by at most an answer's way. Neither is
 *   late, so the later one is closer
 */
export function walkBegan({ began, agedMs }: Pick<Walk, 'began' | 'agedMs'>, startedAt: Date, firstSentAt: Date): Date {
  const started = startedAt.getTime();
  if (began !== started) return new Date(Math.min(began, started) - agedMs);
  return new Date(Math.max(started - agedMs, firstSentAt.getTime()));
}

/**
 * A moment that is certainly not after the walk's start, even if this process estimates the database's clock too late:
 * the database itself dates the first request. The walk may clear what was noted before this moment.
 * @param startedAt as in `walkBegan`
 * @param firstSentAt as in `walkBegan`
 */
export function surelyBegan(walk: Pick<Walk, 'began' | 'agedMs'>, startedAt: Date, firstSentAt: Date): Date {
  const began = walkBegan(walk, startedAt, firstSentAt);
  return began < firstSentAt ? began : firstSentAt;
}
