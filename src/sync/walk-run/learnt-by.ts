import { HIGH_PRIORITY, type Priority } from '../../budget/priorities.ts';
import { type Alarms, learnAlarm } from '../../plan/alarms.ts';
import type { LearntChanges } from '../../plan/learnt-changes.ts';
import { learn } from '../../plan/change-rate.ts';
import type { Walk } from '../../walk/walk.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import type { ReadTotals } from './walk-totals.ts';

/** What was known when a walk of a scope began. */
export interface Learning {
  readonly kind: 'collection' | 'list';
  readonly known: LearntChanges;
  readonly alarms: Alarms;
  /** When the last reading began; undefined: it was never read to its end, and what is found is no change. */
  readonly readAt: Date | undefined;
  /** The list's own row said that something has changed. */
  readonly isDue: boolean;
  /** An event asked for the reading: it may have looked for single rows, and costs what these cost. */
  readonly hinted: boolean;
}

/** @param isDue the list's own row has changed since it was read */
export function learningOf(session: ScopeSession, priority: Priority, isDue = session.isDue): Learning {
  const hinted = priority >= HIGH_PRIORITY;
  return {
    kind: session.scope.parent === '' ? 'collection' : 'list',
    known: session.learnt,
    alarms: session.alarms,
    readAt: session.everComplete ? session.lastReadAt : undefined,
    isDue,
    hinted,
  };
}

/**
 * What is known after a walk that ends well. Of a collection, polls and refreshes count alone: a full walk finds changes
 * that no poll would. A refresh belongs to the poll before it, and its pages to that one's. Pages are what a reading
 * costs: requests that were refused or failed, and sent again, say something of the service and nothing of the scope.
 * @param isOver the reading ends with it: no refresh has to follow that may find what was announced
 * @param totals the walk's, its last page included
 * @param gone rows that the last page proved gone: they are deleted after it
 */
export function learntBy(
  { kind, known, alarms, readAt, isDue, hinted }: Learning,
  { kind: walk, began }: Walk,
  { inserted, updated, pages }: ReadTotals,
  { gone, isOver }: { readonly gone: number; readonly isOver: boolean },
): { readonly learnt?: LearntChanges; readonly alarms?: Alarms } {
  if (readAt === undefined || walk === 'confirm' || (kind === 'collection' && walk === 'full')) return {};
  const changes = inserted + updated + gone;
  const announced = isDue || hinted;
  const elapsedMs = began - readAt.getTime();
  const learnt = learn(kind, known, {
    elapsedMs,
    changes,
    announced: announced ? changes : 0,
    requests: hinted ? 0 : walk === 'refresh' ? known.cost + pages : pages,
  });
  if (kind === 'collection') return { learnt };
  // What an event says first, the row says, too, only later: then there is nothing left to find.
  const isTrue = announced && changes > 0;
  const isFalse = isDue && !hinted && changes === 0 && isOver;
  return { learnt, alarms: learnAlarm(alarms, elapsedMs, isTrue || (isFalse ? false : undefined)) };
}
