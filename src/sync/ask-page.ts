import { messageOf } from '@research-mirror/runtime/message';
import type { Scope } from '../model/collections.ts';
import { AnswerTooLarge, RequestRefused } from '../model/errors.ts';
import { ageOf } from '../model/page.ts';
import type { PageRequest } from '../service/api.ts';
import type { Ask } from '../walk/walk.ts';
import type { ReadingContext } from './reading-context.ts';
import type { ScopeReading } from './walk-result.ts';

export type PageAsk = Extract<Ask, { readonly type: 'page' }>;

/**
 * Sends a walk's request. A refusal, or a page that is too large, is an answer: the walk judges it.
 * @param broken aborted when the answer is no longer wanted
 * @returns what the walk takes; the page, if there is one; as of when the answer is (`PageRecord.sentAfter`)
 * @throws every other error of the request
 */
export async function askPage(
  { source, clock }: Pick<ReadingContext, 'source' | 'clock'>,
  ask: PageAsk,
  request: Pick<ScopeReading, 'collection' | 'priority' | 'signal'> &
    Required<Pick<PageRequest, 'onExchange'>> & { readonly scope: Scope; readonly broken: AbortSignal },
) {
  const { collection, scope, priority, signal, broken, onExchange } = request;
  let sentAfter = clock.monotonic();
  try {
    const page = await source.page({
      path: collection.path(scope.parent),
      route: collection.route,
      keyField: collection.keyField,
      keyType: collection.keyType,
      cursor: ask.cursor ?? undefined,
      limit: ask.limit ?? undefined,
      large: ask.large,
      priority,
      signal: broken,
      stop: signal,
      mayStart: () => {
        sentAfter = clock.monotonic();
        return true;
      },
      onExchange,
    });
    const { items, hasMore, nextCursor } = page;
    const keys = items.map(({ key }) => key);
    const ageMs = ageOf(page);
    const answer = { type: 'page' as const, keys, hasMore, nextCursor, ageMs };
    return { answer, page, sentAfter: sentAfter - ageMs };
  } catch (error) {
    if (error instanceof AnswerTooLarge)
      return { answer: { type: 'too-large' as const }, page: undefined, sentAfter };
    if (!(error instanceof RequestRefused)) throw error;
    const answer = { type: 'refused' as const, status: error.status, message: messageOf(error) };
    return { answer, page: undefined, sentAfter };
  }
}
