import type { Exchange } from '../service/api.ts';
import type { Scope } from '../model/collections.ts';
import { AnswerTooLarge, RequestRefused } from '../model/errors.ts';
import { ageOf, type Page } from '../model/page.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { WalkAnswer, Ask } from '../walk/walk.ts';
import type { ReadingContext } from './reading-context.ts';
import type { WalkOptions } from './walk-result.ts';

export type PageAsk = Extract<Ask, { readonly type: 'page' }>;

/** The service's answer to a walk's request: what the walk takes of it, and what is written. */
export type AskedPage = Exclude<WalkAnswer, { readonly type: 'predecessor' }> & {
  /** Left out where the request was refused, or the page was too large for memory. */
  readonly page?: Page;
  /** As of when the answer is (`PageWrite.sentAfter`). */
  readonly sentAfter: number;
};

interface AskOptions extends Pick<WalkOptions, 'collection' | 'priority' | 'signal'> {
  readonly scope: Scope;
  /** Aborted when the answer is no longer wanted. */
  readonly broken: AbortSignal;
  readonly onExchange: (exchange: Exchange) => void;
}

/**
 * Sends a walk's request. A refusal, or a page that is too large, is an answer: the walk judges it.
 * @throws every other error of the request
 */
export async function askPage(
  { source, clock }: Pick<ReadingContext, 'source' | 'clock'>,
  ask: PageAsk,
  { collection, scope, priority, signal, broken, onExchange }: AskOptions,
): Promise<AskedPage> {
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
    return { type: 'page', keys, hasMore, nextCursor, ageMs, page, sentAfter: sentAfter - ageMs };
  } catch (error) {
    if (error instanceof AnswerTooLarge) return { type: 'too-large', sentAfter };
    if (!(error instanceof RequestRefused)) throw error;
    return { type: 'refused', status: error.status, message: messageOf(error), sentAfter };
  }
}
