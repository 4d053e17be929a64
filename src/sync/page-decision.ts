import type { Decision, ObservedPage } from '../mirror/page-write.ts';
import type { CollectionChange, WalkEnd, WalkTotals } from '../mirror/walk-end.ts';
import { type Scope, scopeName } from '../model/collections.ts';
import type { Item } from '../model/page.ts';
import { checkpoint } from '../walk/checkpoint.ts';
import type { ScopeMemory } from '../walk/memory.ts';
import { noteWritten } from '../walk/note-written.ts';
import type { WrittenRow } from '../walk/order.ts';
import type { End, Walk } from '../walk/walk.ts';
import { addTotals, totalsOf } from './walk-totals.ts';

/** A page as its walk took it, before it is written. */
export interface PageStep {
  readonly scope: Scope;
  /** When this run of the walk began. */
  readonly startedAt: Date;
  /** Of this run of the walk, without what the page will have changed. */
  readonly totals: WalkTotals;
  /** The scope's memory as stored. */
  readonly before: ScopeMemory;
  readonly walk: Walk;
  /** The scope's memory as the step left it. */
  readonly memory: ScopeMemory;
  readonly items: readonly Item[];
  /** Given when the walk ends with this page. */
  readonly end: End | undefined;
  /** As of when the scope's new and unsettled rows are mirrored then, where the walk's end makes that true. */
  readonly polledAt: Date | undefined;
  /** Freshness to store at the end of a walk that ended well. */
  readonly collection: CollectionChange | undefined;
}

/** What is stored with the page, told from what it was to the mirror; and the memory that is then the scope's. */
export function decide(
  taken: PageStep,
  observed: ObservedPage,
): { readonly decision: Decision; readonly memory: ScopeMemory } {
  const memory = noteWritten(taken.memory, writtenRows(taken.items, observed));
  const { end } = taken;
  const scope: Decision['scope'] = {
    ...(memory === taken.before ? {} : { memory }),
    // A poll's progress is in the memory (its open part), and an interrupted refresh is simply due again.
    ...(taken.walk.kind === 'full' ? { fullWalk: end === undefined ? checkpoint(taken.walk) : null } : {}),
    ...(end === undefined ? {} : readUpTo(taken, end, observed.at)),
  };
  const decision = end === undefined ? { scope } : { scope, walkEnd: walkEnd(taken, end, observed) };
  return { decision, memory };
}

/** What a walk that ended well says of its scope; a failure is remembered with its message. */
function readUpTo(taken: PageStep, end: End, at: Date): Decision['scope'] {
  if (end.outcome === 'failed') return { failure: { message: failureOf(taken, end), at } };
  if (end.outcome === 'full-needed') return {};
  const began = new Date(taken.walk.began);
  return {
    lastReadAt: began,
    clearDueUntil: began,
    failure: null,
    ...(taken.polledAt === undefined ? {} : { polledAt: taken.polledAt }),
    ...(end.outcome === 'complete' ? { fullAt: began } : {}),
  };
}

const OUTCOMES = {
  complete: 'completed',
  reached: 'completed',
  'full-needed': 'full-needed',
  failed: 'failed',
};

function walkEnd(taken: PageStep, end: End, observed: ObservedPage): WalkEnd {
  const { scope, startedAt, walk, totals } = taken;
  const error = end.outcome === 'failed' ? failureOf(taken, end) : undefined;
  const collection = error === undefined ? taken.collection : failing(scope, error, observed.at);
  return {
    scope,
    kind: walk.kind,
    startedAt,
    outcome: OUTCOMES[end.outcome],
    totals: addTotals(totals, totalsOf(observed.counts)),
    ...(error === undefined ? {} : { error }),
    ...(collection === undefined ? {} : { collection }),
  };
}

/** Freshness of a collection whose walk failed; one list among many says nothing of its collection. */
export function failing(scope: Scope, message: string, at: Date): CollectionChange | undefined {
  return scope.parent === '' ? { state: 'failing', failure: { message, at } } : undefined;
}

function failureOf({ scope }: PageStep, end: End): string {
  return `${scopeName(scope)}: ${end.reason ?? 'the walk failed'}`;
}

/** The page's rows that the mirror now holds, in the page's order. */
function writtenRows(items: readonly Item[], { outcomes }: ObservedPage): WrittenRow[] {
  return items.flatMap((item, index) => {
    const outcome = outcomes[index];
    const held = outcome !== undefined && outcome !== 'quarantined' && outcome !== 'duplicate';
    if (item.key === undefined || !held) return [];
    return [{ key: item.key, known: outcome !== 'inserted', changed: outcome !== 'unchanged' }];
  });
}
