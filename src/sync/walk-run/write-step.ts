import type { Operator } from '../../db/roles/operator-log.ts';
import type { DeletionResult } from '../../mirror/deletion/apply-deletions.ts';
import type { ObservedPage } from '../../mirror/page-write.ts';
import { isCopy } from '../../model/page.ts';
import { checkpoint } from '../../walk/checkpoint.ts';
import type { WholeWalk } from '../../walk/memory/pair.ts';
import { decide, type Decided, type PageStep } from './page-decision.ts';
import { carryingFreed, type ReadingContext } from '../reader/reading-context.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import { type Absences, NOT_JUDGED, recordAbsences, type WholeReading } from '../scope/whole-reading.ts';

/** Hashes of items in quarantine that are remembered of one walk at most: some 100 bytes each. */
const MOST_BAD_ITEMS = 100_000;

/** What became of a page, and of the rows that it or its walk did not see. */
export interface WrittenStep extends Absences, Pick<ObservedPage, 'outcomes' | 'counts' | 'sentAt'> {
  /** Everything is mirrored as of its request, once a proof confirms that it is the account's own. */
  readonly complete: boolean;
}

/**
 * Writes a page with its checkpoint, its evidence, its suspects and the budget's slots: one transaction. Then the
 * session goes on with what is committed. After the last page of a whole walk, what that walk proves is recorded.
 * @param whole what the walk has seen, while that may prove something
 * @returns undefined: its list is deleted
 */
export async function writeStep(
  context: ReadingContext,
  session: ScopeSession,
  taken: PageStep,
  whole: WholeReading | undefined,
): Promise<WrittenStep | undefined> {
  const { scope, obs, items, hashes, sentAfter, served, walk, page, end } = taken;
  // The whole scope in one answer needs no second walk like it.
  const snapshot = page?.proof?.kind === 'snapshot';
  const judges = end?.outcome === 'complete' && !snapshot;
  let decided: Decided | undefined;
  let present: WholeWalk | null = null;
  let sentAt = new Date(0);
  const result = await carryingFreed(context, (alsoInTransaction) =>
    context.mirror.applyPage(context.fence, {
      scope,
      obs,
      after: session.committed,
      items,
      hashes,
      sentAfter,
      proof: page?.proof ?? undefined,
      where: page?.place,
      copy: isCopy(served) ? { knownAsOf: session.polledAt } : undefined,
      alsoInTransaction,
      decide: (observed) => {
        ({ sentAt } = observed);
        whole?.note(items, observed, served);
        present = (judges ? whole?.walk(taken.firstSentAt ?? sentAt, observed.at) : undefined) ?? null;
        for (const hash of observed.quarantined) session.badItems?.add(hash);
        if ((session.badItems?.size ?? 0) > MOST_BAD_ITEMS) session.badItems = undefined;
        decided = decide(taken, observed, present, session.badItems);
        return decided.decision;
      },
    }),
  );
  if (walk.kind === 'full') session.fullWalk = end === undefined ? checkpoint(walk) : undefined;
  if (result.state === 'parent_deleted' || decided === undefined) return undefined;

  session.committed = obs;
  const previous = session.memory.whole;
  session.memory = decided.memory;
  if (end?.outcome === 'complete') session.everComplete = true;
  const { suspectChange } = result.decision;
  const { polledAt, lastReadAt } = result.decision.scope;
  if (polledAt !== undefined) session.polledAt = polledAt;
  if (lastReadAt !== undefined) session.lastReadAt = lastReadAt;
  if (result.changed !== undefined) context.onChanged(result.changed);
  const { completeAsOf } = decided;
  if (completeAsOf !== undefined) context.source.claimComplete({ scope, completeAsOf });
  const absences =
    whole !== undefined && judges
      ? await recordAbsences(context, scope, whole, present, previous, obs)
      : NOT_JUDGED;
  return {
    outcomes: result.outcomes,
    counts: result.counts,
    sentAt,
    judged: snapshot || absences.judged,
    raised: absences.raised || (suspectChange?.add.length ?? 0) > 0,
    proven: absences.proven || (suspectChange?.prove.length ?? 0) > 0,
    overlooks: absences.overlooks || decided.overlooks,
    complete: completeAsOf !== undefined,
  };
}

/**
 * Deletes the scope's rows that are proven gone, unless the brake blocks that. Call it in the scope's write lane,
 * after the answers behind it are proven to be the account's (`AccountSource.proveAll`).
 * @param accept who lifts the brake
 */
export async function deleteProvenRows(
  { mirror, fence, source, observer, onChanged }: ReadingContext,
  { scope, committed }: ScopeSession,
  accept: Operator | false,
): Promise<DeletionResult> {
  source.assertOwn();
  const result = await mirror.applyDeletions(fence, scope, { accept, obs: committed });
  for (const table of result.changed) onChanged(table);
  observer.deletionsJudged({ scope, deleted: result.deleted });
  for (const [collection, deleted] of result.along) {
    observer.deletionsJudged({ scope: { ...scope, collection, parent: '' }, deleted });
  }
  return result;
}
