import type { Priority } from '../../budget/priorities.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { ListCollection } from '../../model/collections.ts';
import type { ScopeMemory } from '../../walk/memory/memory.ts';
import type { End, FullWalk, Walk } from '../../walk/walk.ts';
import type { ReadTotals } from './walk-totals.ts';

export interface WalkOptions {
  readonly collection: ListCollection;
  readonly priority: Priority;
  /** Aborted: no further request; the page in hand is still written. */
  readonly signal: AbortSignal;
  /** After as many requests, and not before one of them led on, the walk breaks off, as by a stop. Left out: never. */
  readonly requests?: number;
  /** Lifts the brake of deletions. */
  readonly accept?: boolean;
  /** Asked at each page of a full walk that does not end it: true ends it there, as one that has reached its aim. */
  readonly enough?: (read: PartRead) => Promise<boolean>;
  /** What to store besides when the walk ends, asked in the step that ends it. */
  readonly onEnd?: (end: End, ended: Ended) => Promise<AtEnd>;
}

/** A full walk that has not come to its end, with a page that is about to be written. */
export interface PartRead {
  readonly walk: FullWalk;
  /** The scope's memory as the step left it. */
  readonly memory: ScopeMemory;
}

/** A walk in the step that ends it. */
export interface Ended {
  readonly walk: Walk;
  /** The scope's memory as the step left it. */
  readonly memory: ScopeMemory;
  /** Keys of all items that this walk read; not kept for a full walk. */
  readonly seen: ReadonlySet<string>;
}

export interface AtEnd {
  /** As of when the scope's new and unsettled rows are mirrored, where the walk's end makes that true. */
  readonly polledAt?: Date;
  /** Rows that earlier pages showed and that are not believed yet: until they are, `polledAt` stays as it was. */
  readonly unbelieved?: readonly string[];
  /** Freshness of the collection. */
  readonly collection?: CollectionChange;
  /** Memory in place of the one that the step left. */
  readonly memory?: ScopeMemory;
}

/** How a walk ended. `error` is given when it failed; an interrupted one goes on from its checkpoint next time. */
export interface WalkResult {
  readonly outcome: End['outcome'] | 'interrupted' | 'parent-deleted';
  readonly error: Error | undefined;
  /** Status of the service's refusal, where that ended the walk. */
  readonly status: number | undefined;
  /** Where it stood then. */
  readonly walk: Walk;
  /** Keys that the walk read; not kept for a full walk. */
  readonly seen: ReadonlySet<string>;
  readonly totals: ReadTotals;
  /** It put rows in doubt: a second observation has to come. */
  readonly suspects: boolean;
  /** It proved rows of a list gone: `DoubtSettler.deleteProven` has them deleted. */
  readonly proven: boolean;
  /** Given where it read every item of the scope, or enough of them (`WalkOptions.enough`). */
  readonly whole: ReadWhole | undefined;
}

/** A walk that read every item of its scope. */
export interface ReadWhole {
  /** When its first request was sent, by the database's clock. */
  readonly began: Date;
  /** What it did not see is known: proven absent, in doubt, or not in the mirror either. */
  readonly clean: boolean;
  /** Rows are missing that came or changed too lately to be doubted: the next walk tells whether they are gone. */
  readonly overlooks: boolean;
  /** Nothing is in doubt: that everything is mirrored as of its beginning is stored, to be true with the next proof. */
  readonly complete: boolean;
}

/** 404 and 410 say that the list is gone, or else that the service is confused: its row in the lists tells. */
export function isUnknown(result: WalkResult): result is WalkResult & { readonly status: 404 | 410 } {
  return result.error !== undefined && (result.status === 404 || result.status === 410);
}
