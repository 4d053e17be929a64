import { failureMessage } from '../../db/connection/sql-state.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { CompleteScope } from '../../mirror/scope/complete-as-of.ts';
import type { CollectionChange, WalkEnd } from '../../mirror/scope/walk-end.ts';
import type { Scope, SingleCollection } from '../../model/collections.ts';
import { KeyRefused, LeaseLost } from '../../model/errors.ts';
import { ageOf, isCopy } from '../../model/page.ts';
import { stateOf } from '../../model/row-state.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped } from '@research-mirror/runtime/service';
import { ownerOf } from '../ownership/owner-of.ts';
import { carryingFreed, type ReadingContext } from '../reader/reading-context.ts';
import { withoutPolledAt } from '../scope/unbelieved.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';
import { addTotals, NO_TOTALS, totalsOf } from '../walk-run/walk-totals.ts';

/**
 * Reads an endpoint that answers one object: its row is a page with one item.
 * @throws LeaseLost
 */
export async function readSingle(
  context: ReadingContext,
  { name, path, route }: SingleCollection,
  onRead: (asOf: Date, began: Date) => CollectionChange,
  signal: AbortSignal,
): Promise<Pick<WalkResult, 'outcome' | 'error' | 'totals'>> {
  const scope: Scope = { userId: context.fence.userId, collection: name, parent: '' };
  const startedAt = new Date(context.clock.now());
  const startedTick = context.clock.monotonic();
  let totals = NO_TOTALS;
  /** Undefined: the scope was not opened, so nothing is known of its observations. */
  let opened: number | undefined;
  context.observer.walkStarted({ scope, kind: 'single', resumed: false });
  const ended = (outcome: 'complete' | 'failed' | 'interrupted', error: Error | undefined): void =>
    context.observer.walkEnded({
      scope,
      kind: 'single',
      outcome,
      error,
      pages: outcome === 'complete' ? 1 : 0,
      items: outcome === 'complete' ? 1 : 0,
      inserted: totals.inserted,
      updated: totals.updated,
      milliseconds: context.clock.monotonic() - startedTick,
    });
  try {
    const { lastObs } = await context.store.openScope(scope);
    opened = lastObs;
    let sentAfter = context.clock.monotonic();
    const answer = await context.source.object({
      path: path(),
      route,
      priority: PRIORITY.POLL,
      signal: new AbortController().signal,
      stop: signal,
      mayStart: () => {
        sentAfter = context.clock.monotonic();
        return true;
      },
      onExchange: ({ status }) => {
        totals = addTotals(totals, { requests: 1, rateLimited: status === 429 ? 1 : 0 });
      },
    });
    const { source, fields } = answer;
    const item = { source, state: stateOf(fields), key: '', problem: undefined };
    const agedMs = ageOf(answer);
    // An answer that names its owner needs no other proof.
    const isProven = agedMs === 0 && ownerOf(answer) !== undefined;
    let claim: CompleteScope | undefined;
    const result = await carryingFreed(context, (alsoInTransaction) =>
      context.mirror.applySingle(context.fence, {
        collection: name,
        obs: lastObs + 1,
        after: lastObs,
        item,
        ...(isCopy(answer.served) ? { copy: { knownAsOf: undefined } } : {}),
        sentAfter: sentAfter - agedMs,
        alsoInTransaction,
        decide: ({ counts, sentAt }) => {
          const polledAt = new Date(startedAt.getTime() - agedMs);
          const asOf = Math.max(sentAt.getTime(), polledAt.getTime());
          const completeAsOf = new Date(asOf - context.gracePeriodMs);
          const read = onRead(polledAt, startedAt);
          // Deferred: the answer may be stale, and a later sighting decides.
          const believed = counts.deferred === 0;
          if (believed && !isProven) claim = { scope, completeAsOf };
          return {
            scope: {
              lastReadAt: startedAt,
              fullAt: startedAt,
              failure: null,
              ...(believed ? { polledAt, ...(isProven ? { completeAsOf } : {}) } : {}),
            },
            walkEnd: {
              scope,
              kind: 'single',
              startedAt,
              outcome: 'completed',
              totals: addTotals(totals, { pages: 1, items: 1, ...totalsOf(counts) }),
              collection: believed
                ? { ...read, ...(isProven ? { completeAsOf } : {}) }
                : withoutPolledAt(read),
            },
          };
        },
      }),
    );
    if (result.state === 'applied' && claim !== undefined) context.source.claimComplete(claim);
    if (result.state === 'applied' && result.changed !== undefined) context.onChanged(result.changed);
    const counts = result.state === 'applied' ? totalsOf(result.counts) : {};
    totals = addTotals(totals, { pages: 1, items: 1, ...counts });
    const { inserted = 0, updated = 0, unchanged = 0, quarantined = 0 } = counts;
    const written = { items: 1, inserted, updated, unchanged, quarantined };
    context.observer.pageWritten({ scope, kind: 'single', ...written });
    ended('complete', undefined);
    return { outcome: 'complete', error: undefined, totals };
  } catch (cause) {
    if (cause instanceof LeaseLost) throw cause;
    const error = cause instanceof Error ? cause : new Error(messageOf(cause));
    if (isStopped(cause)) {
      ended('interrupted', undefined);
      return { outcome: 'interrupted', error: undefined, totals };
    }
    ended('failed', error);
    if (!(error instanceof KeyRefused)) {
      const failure = { message: failureMessage(error), at: new Date(context.clock.now()) };
      const walkEnd: WalkEnd = {
        scope,
        kind: 'single',
        startedAt,
        outcome: 'failed',
        totals,
        error: failure.message,
        collection: { state: 'failing', failure },
      };
      await context.mirror.endWalk(context.fence, scope, { scope: { failure }, walkEnd }, opened);
    }
    return { outcome: 'failed', error, totals };
  }
}
