import { HIGH_PRIORITY, PRIORITY, type Priority } from '../../budget/priorities.ts';
import type { LearntChanges } from '../../plan/learnt-changes.ts';
import { learn } from '../../plan/change-rate.ts';
import type { Walk } from '../../walk/walk.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import type { ReadTotals } from './walk-totals.ts';

/** What was known when a walk of a scope began. */
export interface Learning {
  readonly kind: 'collection' | 'list';
  readonly known: LearntChanges;
  /** When the last reading began; undefined: it was never read to its end, and what is found is no change. */
  readonly readAt: Date | undefined;
  /** An event or the list's own row said that something has changed. */
  readonly announced: boolean;
}

export function learningOf(session: ScopeSession, priority: Priority): Learning {
  return {
    kind: session.scope.parent === '' ? 'collection' : 'list',
    known: session.learnt,
    readAt: session.everComplete ? session.lastReadAt : undefined,
    announced: session.isDue || priority >= HIGH_PRIORITY || priority === PRIORITY.LATE_HINT,
  };
}

/**
 * What is known after a walk that ends well. Of a collection, polls and refreshes count alone: a full walk finds changes
 * that no poll would. A refresh belongs to the poll before it, and its requests to that one's.
 * @param totals the walk's, its last page included
 */
export function learntBy(
  { kind, known, readAt, announced }: Learning,
  { kind: walk, began }: Walk,
  { inserted, updated, deleted, requests }: ReadTotals,
): { readonly learnt?: LearntChanges } {
  if (readAt === undefined || walk === 'confirm' || (kind === 'collection' && walk === 'full')) return {};
  const changes = inserted + updated + deleted;
  const learnt = learn(kind, known, {
    elapsedMs: began - readAt.getTime(),
    changes,
    announced: announced ? changes : 0,
    requests: walk === 'refresh' ? known.cost + requests : requests,
  });
  return { learnt };
}
