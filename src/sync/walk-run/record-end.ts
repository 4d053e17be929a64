import type { WalkEnd } from '../../mirror/scope/walk-end.ts';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { LeaseLost } from '../../model/errors.ts';
import { failureMessage } from '../../db/connection/sql-state.ts';
import { failing } from './page-decision.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { ScopeSession } from '../scope/scope-session.ts';

/**
 * Stores the end of a walk that ended without a page; its checkpoint stays as its last page left it. @throws
 * LeaseLost
 */
export async function recordEnd(
  { clock, mirror, fence }: ReadingContext,
  session: ScopeSession,
  walk: Pick<WalkEnd, 'kind' | 'startedAt' | 'outcome' | 'totals'>,
  error: Error | undefined,
): Promise<void> {
  const { scope } = session;
  const at = new Date(clock.now());
  const message = error === undefined ? undefined : failureMessage(error);
  const collection = message === undefined ? undefined : failing(scope, message, at);
  try {
    const stop = {
      scope: message === undefined ? {} : { failure: { message, at } },
      walkEnd: {
        scope,
        ...walk,
        ...(message === undefined ? {} : { error: message }),
        ...(collection === undefined ? {} : { collection }),
      },
    };
    await session.write(() => mirror.endWalk(fence, scope, stop, session.committed));
  } catch (cause) {
    // The database itself may have ended the walk: then nothing can be stored, and the caller gets the walk's error.
    if (cause instanceof LeaseLost || !(cause instanceof ClassifiedError)) throw cause;
  }
}
