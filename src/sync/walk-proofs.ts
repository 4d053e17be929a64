/** What a walk writes and proves: its pages, rows that it did not see, proven deletions. */

import type { KeyStore } from '@research-mirror/runtime/kept-keys';
import { walkBegan } from '../mirror/page-decision.ts';
import type { PageRecord } from '../mirror/page-record.ts';
import type { AbsenceProof } from '../model/absence.ts';
import type { Scope } from '../model/collections.ts';
import { isCopy, type Page } from '../model/page.ts';
import type { Operator } from '../postgres/operator-log.ts';
import { checkpoint } from '../walk/checkpoint.ts';
import { orderGrade } from '../walk/memory.ts';
import type { End, Walk } from '../walk/walk.ts';
import { judgePair, WholeReading, type WholeWalk } from '../walk/whole-walk.ts';
import { carryingFreed, type ReadingContext } from './reading-context.ts';
import type { ScopeSession } from './scope-session.ts';

/** Conclusions about the rows that a whole walk did not see. */
export type Absences = Readonly<typeof NOT_JUDGED>;

export const NOT_JUDGED = {
  /** They are suspected or proven gone, or there are none. */
  judged: false,
  /** Some are newly suspected. */
  raised: false,
  /** Some are proven gone now. */
  proven: false,
  /** Some came or changed too recently to be suspected. */
  overlooks: false,
};

/**
 * Records the conclusions about live rows that a whole walk did not see. All keys are compared, since counters do not
 * know changes by hand. Called in the write lane right after the last page, so that no other page comes between.
 * @param present null if the walk can't be compared with another: it can only show that no row is missing
 * @param previous the whole walk before it, if one is remembered
 * @param obs observation number of its last page
 */
export async function recordAbsences(
  { fence, mirror, store, gracePeriodMs }: ReadingContext,
  scope: Scope,
  reading: WholeReading,
  present: WholeWalk | null,
  previous: WholeWalk | null,
  obs: number,
): Promise<Absences> {
  const missing = await store.liveKeysMissing(scope, (key) => reading.saw(key));
  // Rows that the walk has seen would count as missing.
  if (reading.lost) return NOT_JUDGED;
  if (missing.length === 0) return { ...NOT_JUDGED, judged: true };
  if (present === null) return NOT_JUDGED;
  const keys = new Set(missing.map(({ key }) => key));
  const suspects = (await store.suspectsOf(scope)).filter(({ key }) => keys.has(key));
  const change = judgePair(previous, present, { missing, suspects, gracePeriodMs });
  const [raised, proven] = [change.add.length > 0, change.prove.length > 0];
  if (raised || proven) await mirror.recordSuspects(fence, scope, change, obs);
  const suspectKeys = new Set(suspects.map(({ key }) => key));
  const overlooks = missing.some(
    ({ key, changedAt }) => changedAt > present.began - gracePeriodMs && !suspectKeys.has(key),
  );
  return { judged: true, raised, proven, overlooks };
}

/**
 * Writes a page with all that belongs to it in one transaction, and updates the session with what is committed. After
 * the last page of a whole walk, records what that walk proves.
 * @returns the outcome, and conclusions about rows that the page or its walk lacks; undefined: its list is deleted
 */
export async function writeStep(
  context: ReadingContext,
  session: ScopeSession,
  record: Omit<PageRecord, 'alsoInTransaction'>,
) {
  const { scope, obs, taken, walk, end, whole } = record;
  const result = await carryingFreed(context, (alsoInTransaction) =>
    context.mirror.applyPage(context.fence, { ...record, alsoInTransaction }),
  );
  if (walk.kind === 'full') session.fullWalk = end === undefined ? checkpoint(walk) : undefined;
  if (result.state === 'parent_deleted') return undefined;

  const { decided, changed, sentAt, counts } = result;
  const { suspectChange, completeAsOf } = decided;
  const previous = session.memory.whole;
  session.committed = obs;
  session.memory = decided.memory ?? session.memory;
  session.everComplete ||= end?.outcome === 'complete';
  session.polledAt = decided.scope.polledAt ?? session.polledAt;
  session.lastReadAt = decided.scope.lastReadAt ?? session.lastReadAt;
  session.sawBad(result.quarantined);
  if (changed !== undefined) context.onChanged(changed);
  if (completeAsOf !== undefined) context.source.claimComplete({ scope, completeAsOf });
  const absences =
    whole !== undefined && decided.whole !== undefined
      ? await recordAbsences(context, scope, whole, decided.whole, previous, obs)
      : NOT_JUDGED;
  return {
    sentAt,
    counts,
    judged: taken.proof?.kind === 'snapshot' || absences.judged,
    raised: absences.raised || suspectChange.add.length > 0,
    proven: absences.proven || suspectChange.prove.length > 0,
    overlooks: absences.overlooks || decided.overlooks,
    /** The scope is complete as of its request, once a proof confirms that it belongs to the account. */
    complete: completeAsOf !== undefined,
  };
}

/**
 * Deletes the scope's rows that are proven gone unless the brake blocks that. Called in the scope's write lane, after
 * the answers are proven to be the account's (`AccountSource.proveAll`).
 * @param accept who lifts the brake
 */
export async function deleteProvenRows(
  { mirror, fence, source, observer, onChanged }: ReadingContext,
  { scope, committed }: ScopeSession,
  accept: Operator | false,
) {
  source.assertOwn();
  const result = await mirror.applyDeletions(fence, scope, { accept, obs: committed });
  for (const table of result.changed) onChanged(table);
  observer.deletionsJudged({ scope, deleted: result.deleted });
  for (const [collection, deleted] of result.along) {
    observer.deletionsJudged({ scope: { ...scope, collection, parent: '' }, deleted });
  }
  return result;
}

/** Most live rows of a list in trusted order for which a full walk keeps keys and contents. */
const REMEMBERED_ROWS = 100_000;

/** Suspicions and proofs of a running walk, page by page. */
export class WalkProofs {
  readonly #session: ScopeSession;
  readonly #startedAt: Date;
  /** The mirror was empty, so nothing can be missing. (A failed first load leaves rows, which may be deleted since.) */
  readonly #firstLoad: boolean;
  /** Every page so far was read in trusted order and shows what it lacks. */
  #trusted = true;
  #overlooks = false;
  /** The rows seen by a full walk, while that may prove something. */
  reading: WholeReading | undefined;
  /** Time of the first request, by the database's clock. */
  began: Date | undefined;
  /** Rows are newly suspected. */
  raised = false;
  /** Rows are proven gone. */
  proven = false;
  /** Set once the walk has read every item of its scope. */
  whole: ReadWhole | undefined;

  /**
   * @param startedAt start of this run of the walk
   * @param keys store for the keys that a full walk sees
   */
  constructor(session: ScopeSession, walk: Walk, startedAt: Date, keys: KeyStore) {
    this.#session = session;
    this.#startedAt = startedAt;
    this.#firstLoad = !session.everComplete && walk.kind === 'full' && walk.liveRows === 0;
    if (walk.kind !== 'full') return;
    if (!walk.resumed && !this.#firstLoad) this.reading = new WholeReading(keys);
    session.whole = this.reading;
    session.badItems = walk.resumed ? undefined : new Set();
  }

  /** Called for each answer before it is written. @param walk after its step @param keys of the page's items */
  pageCame(walk: Walk, page: Page | undefined, keys: readonly string[]): void {
    // An item without a usable key may be any row, so the page does not show what it lacks.
    if (keys.length !== (page?.items.length ?? 0)) this.#trusted = false;
    // A cached copy may show rows that were gone before the walk began.
    if (!isCopy(page?.served)) {
      for (const key of keys) this.#session.since?.keep(key, '');
      if (walk.kind !== 'full') this.#session.whole?.sighted(keys);
    }
    if (walk.kind !== 'full') return;
    // A trusted order proves what is missing, so the keys of very many rows need not be kept. (It does not prove the
    // list's end if the service omits `has_more` or sends one item at a time.)
    const first = this.began === undefined && page?.hasMore !== undefined && keys.length > 1;
    const trusted = first && orderGrade(this.#session.memory) === 'trusted';
    const needless = trusted && walk.liveRows > REMEMBERED_ROWS;
    if (walk.restarts > 0 || needless) this.#forget();
  }

  /** @param proof what the page proves absent */
  pageWritten(
    walk: Walk,
    end: End | undefined,
    proof: AbsenceProof | null,
    step: Absences & { readonly sentAt: Date; readonly complete: boolean },
  ): void {
    this.raised ||= step.raised;
    this.proven ||= step.proven;
    this.#overlooks ||= step.overlooks;
    // A later answer may be older, from a cache.
    if (this.began === undefined || step.sentAt < this.began) this.began = step.sentAt;
    this.#trusted &&= orderGrade(this.#session.memory) === 'trusted';
    const isPart = walk.kind === 'full' && end?.outcome === 'reached';
    // An end with a status has no page.
    if (!(isPart || end?.outcome === 'complete') || end.status !== undefined) return;
    // A page proves absences after its last item only if it shows that nothing follows.
    const isCovered = isPart || proof?.kind === 'snapshot' || proof?.through === null;
    const resumed = walk.kind === 'full' && walk.resumed;
    const sawAll = !resumed && (step.judged || this.#firstLoad);
    this.whole = {
      began: walkBegan(walk, this.#startedAt, this.began),
      conclusive: walk.restarts === 0 && !this.#overlooks && ((this.#trusted && isCovered) || sawAll),
      overlooks: this.#overlooks,
      complete: step.complete,
    };
  }

  /** The walk is over. */
  end(walk: Walk): void {
    if (walk.kind !== 'full') return;
    this.#forget();
    this.#session.badItems = undefined;
  }

  #forget(): void {
    this.reading?.close();
    this.reading = undefined;
    this.#session.whole = undefined;
  }
}

/** A walk that read every item of its scope. */
export interface ReadWhole {
  /** Time of its first request, by the database's clock. */
  readonly began: Date;
  /** All rows that it did not see are proven absent, suspected or not in the mirror. */
  readonly conclusive: boolean;
  /** Missing rows came or changed too recently to be suspected: the next walk decides. */
  readonly overlooks: boolean;
  /** Nothing is suspected: the scope is complete as of its start, once the next proof confirms it. */
  readonly complete: boolean;
}
