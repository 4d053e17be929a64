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
import { carryingFreed, type ReadingContext } from '../reader/reading-context.ts';
import { withoutPolledAt } from '../walk-run/page-decision.ts';
import { addTotals, NO_TOTALS, totalsOf } from '../walk-run/walk-totals.ts';
import { NOTHING, type ReadOutcome } from './read-outcome.ts';

/**
 * Reads an endpoint that answers one object: its row is a page with one item, whose key is the account's.
 * @throws LeaseLost, KeyRefused
 */
export async function readSingle(
  context: ReadingContext,
  { name, path, route }: SingleCollection,
  onRead: (asOf: Date, began: Date) => CollectionChange,
  signal: AbortSignal,
): Promise<ReadOutcome> {
  const scope: Scope = { userId: context.fence.userId, collection: name, parent: '' };
  const kind = 'single';
  const startedAt = new Date(context.clock.now());
  const startedTick = context.clock.monotonic();
  let totals = NO_TOTALS;
  /** Undefined: the scope was not opened, so nothing is known of its observations. */
  let opened: number | undefined;
  context.observer.walkStarted({ scope, kind, resumed: false });
  const ended = (outcome: 'complete' | 'failed' | 'interrupted', error?: Error): void => {
    const { pages, items, inserted, updated } = totals;
    const milliseconds = context.clock.monotonic() - startedTick;
    const counts = { pages, items, inserted, updated };
    context.observer.walkEnded({ scope, kind, outcome, error, ...counts, milliseconds });
  };
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
    const agedMs = ageOf(answer);
    let claim: CompleteScope | undefined;
    const result = await carryingFreed(context, (alsoInTransaction) =>
      context.mirror.applyPage(context.fence, {
        scope,
        obs: lastObs + 1,
        after: lastObs,
        items: [{ source, state: stateOf(fields), key: '', problem: undefined }],
        ...(isCopy(answer.served) ? { copy: { knownAsOf: undefined } } : {}),
        sentAfter: sentAfter - agedMs,
        alsoInTransaction,
        decide: ({ counts, sentAt }) => {
          const polledAt = new Date(startedAt.getTime() - agedMs);
          const asOf = Math.max(sentAt.getTime(), polledAt.getTime());
          const read = onRead(polledAt, startedAt);
          // Deferred: the answer may be stale, and a later sighting decides.
          const believed = counts.deferred === 0;
          if (believed) claim = { scope, completeAsOf: new Date(asOf - context.gracePeriodMs) };
          return {
            scope: {
              lastReadAt: startedAt,
              fullAt: startedAt,
              failure: null,
              ...(believed ? { polledAt } : {}),
            },
            walkEnd: {
              scope,
              kind,
              startedAt,
              outcome: 'completed',
              totals: addTotals(totals, { pages: 1, items: 1, ...totalsOf(counts) }),
              collection: believed ? read : withoutPolledAt(read),
            },
          };
        },
      }),
    );
    const counts = result.state === 'applied' ? totalsOf(result.counts) : NO_TOTALS;
    totals = addTotals(totals, { ...counts, pages: 1, items: 1 });
    if (result.state === 'applied' && claim !== undefined) context.source.claimComplete(claim);
    if (result.state === 'applied' && result.changed !== undefined) context.onChanged(result.changed);
    context.observer.pageWritten({ scope, kind, ...counts, items: 1 });
    ended('complete');
    return { ...NOTHING, totals };
  } catch (cause) {
    if (cause instanceof LeaseLost) throw cause;
    if (isStopped(cause)) {
      ended('interrupted');
      return { ...NOTHING, totals };
    }
    const error = cause instanceof Error ? cause : new Error(messageOf(cause));
    ended('failed', error);
    if (error instanceof KeyRefused) throw error;
    const failure = { message: failureMessage(error), at: new Date(context.clock.now()) };
    const walkEnd: WalkEnd = {
      scope,
      kind,
      startedAt,
      outcome: 'failed',
      totals,
      error: failure.message,
      collection: { state: 'failing', failure },
    };
    await context.mirror.endWalk(context.fence, scope, { scope: { failure }, walkEnd }, opened);
    return { ...NOTHING, error, totals };
  }
}
