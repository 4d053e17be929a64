import type { DeletionResult } from '../../mirror/mirror.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import type { ScopeSession } from '../scope/scope-session.ts';

/**
 * Deletes the scope's rows that are proven gone, unless the brake blocks that. Call it in the scope's write lane,
 * after the answers behind it are proven to be the account's (`AccountSource.proveAll`).
 * @param accept lifts the brake
 */
export async function deleteProvenRows(
  { mirror, fence, source, observer, onChanged }: ReadingContext,
  { scope, committed }: ScopeSession,
  accept: boolean,
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
