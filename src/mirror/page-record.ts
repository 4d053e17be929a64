import type { MissingRow, SuspectChange, SuspectedDeletion } from '../model/absence.ts';
import type { Scope } from '../model/collections.ts';
import type { Item, Page } from '../model/page.ts';
import type { CollectionChange, ReadTotals, WalkEnd } from '../model/sync-events.ts';
import type { Db } from '../postgres/db.ts';
import type { ScopeMemory } from '../walk/memory.ts';
import type { WholeWalk } from '../walk/pair.ts';
import type { End, TakenPage, Walk } from '../walk/walk.ts';
import type { WholeReading } from '../walk/whole-reading.ts';

/** One page of a scope, from its answer to the commit: all of it is written in one transaction, or nothing. */
export interface PageRecord {
  readonly scope: Scope;
  /** Observation number of the request. */
  readonly obs: number;
  /** The scope's `lastObs` as this process last read or committed it. If the stored one differs, nothing is written. */
  readonly after: number;
  /** As answered; undefined: the request was refused or the answer was too large. */
  readonly page: Page | undefined;
  /**
   * Lower bound of the time when the service made the answer: the request's, less the answer's age in a cache. Of the
   * mirror's monotonic clock, ms.
   */
  readonly sentAfter: number;
  /** What it shows of absent rows, of the list's order, and of its place there. */
  readonly taken: TakenPage;
  /** Its walk, which has taken the page; `single`: a reading of an endpoint that answers one object. */
  readonly walk: Walk | (Pick<Walk, 'began' | 'agedMs'> & { readonly kind: 'single' });
  /** The scope's memory, as stored and as the walk has left it; undefined: the scope has none. */
  readonly memory: { readonly before: ScopeMemory; readonly after: ScopeMemory } | undefined;
  /** Set if the walk ends with this page. */
  readonly end: (End & AtEnd) | undefined;
  /** Start of this run of the walk. */
  readonly startedAt: Date;
  /** Time of its first request, by the database's clock; undefined: that was this page's. */
  readonly firstSentAt: Date | undefined;
  /** Of this run of the walk, without this page's outcomes. */
  readonly totals: ReadTotals;
  /** The scope's new and unfinished rows were last mirrored as of then. */
  readonly polledAt: Date | undefined;
  /** Start of the scope's last reading that has ended. */
  readonly lastReadAt: Date | undefined;
  /** A poll between two runs of its cron line: `sync_log` gets no row of it if it finds nothing. */
  readonly early: boolean;
  /** The rows that the running full walk has seen, if that may prove something. */
  readonly whole: WholeReading | undefined;
  /** Hashes of the items in quarantine seen since the running full walk began; undefined: unknown. */
  readonly badItems: ReadonlySet<string> | undefined;
  /**
   * More work for the page's transaction: the budget's freed slots. Repeated if the write is retried, and skipped if
   * nothing of the page is written.
   */
  readonly alsoInTransaction: (trx: Db) => Promise<void>;
}

/** What is true once a walk has ended. */
export interface AtEnd {
  /** The scope's new and unfinished rows are mirrored as of then. */
  readonly polledAt?: Date | undefined;
  /** Keys of rows on earlier pages that are not believed yet: until they are, `polledAt` stays. */
  readonly unbelieved?: readonly string[];
  /** Changes of the collection's freshness. */
  readonly collection?: CollectionChange | undefined;
}

/**
 * Outcome of an item of the page:
 * - `inserted`: a new key; `updated`: other content than stored; `undeleted`: a deleted row is back
 * - `unchanged`: nothing to write
 * - `deferred`: older content contradicts a deletion or change observed less than MIRROR_SETTLE ago: the page may be
 *   stale, and a later sighting decides (docs/design/deletions.md, "Returns")
 * - `duplicate`: the page has the key again further down; the last one counts
 * - `quarantined`: can't be mirrored; its text is kept aside
 * - `forgotten`: erased on request, and not mirrored again
 */
export type ItemOutcome = keyof typeof NO_OUTCOMES;

export const NO_OUTCOMES = {
  inserted: 0,
  updated: 0,
  undeleted: 0,
  unchanged: 0,
  deferred: 0,
  duplicate: 0,
  quarantined: 0,
  forgotten: 0,
};

/** What a page was to the mirror, as its transaction found it. */
export interface ObservedPage {
  /** One outcome per item, in the page's order. */
  readonly outcomes: readonly ItemOutcome[];
  readonly counts: PageCounts;
  /** Time of this transaction by the database's clock: `_changed_at` of the rows that it changes. */
  readonly at: Date;
  /** `sentAfter` by the same clock. */
  readonly sentAt: Date;
  /** Content hash of each item, hexadecimal, in the page's order; undefined for an item that can't be mirrored. */
  readonly hashes: readonly (string | undefined)[];
  /** Live rows that the page proves absent. */
  readonly missing: readonly MissingRow[];
  /** Suspected deletions among the page's keys and the missing rows. */
  readonly suspects: readonly SuspectedDeletion[];
  /** Hashes of its items that are in quarantine. */
  readonly quarantined: readonly string[];
}

/** Number of the page's items by outcome. */
export type PageCounts = Readonly<Record<ItemOutcome, number>>;

/** Changes of a scope's row; fields that are left out stay. JSON values are stored as given. */
export interface ScopeChange {
  /** A `ScopeMemory`. Left out if it is the same: each write costs WAL. */
  readonly memory?: unknown;
  /** Checkpoint of the running full walk; null: none is running. */
  readonly fullWalk?: unknown;
  /** Clears what made the scope due up to this moment; later hints stay. */
  readonly clearDueUntil?: Date;
  readonly lastReadAt?: Date;
  readonly polledAt?: Date;
  readonly fullAt?: Date;
  readonly completeAsOf?: Date;
  /** A failure, which is counted; null: the scope can be read again. */
  readonly failure?: { readonly message: string; readonly at: Date } | null;
}

/** An item of a page that can't be stored. */
export interface BadItem {
  /** Index in the page. */
  readonly index: number;
  readonly item: Item;
  /** To follow "the item …". */
  readonly reason: string;
}

export type PageResult =
  | (ObservedPage & {
      readonly state: 'applied';
      readonly decided: Decided;
      /** For NOTIFY after the commit: the page's greatest `_change_id`; undefined if no row changed. */
      readonly changed: ChangedTable | undefined;
    })
  /** Nothing of the page was written: its list is deleted, or forgotten. */
  | { readonly state: 'parent_deleted' };

/** What is stored with a page, and what its walk continues with. */
export interface Decided {
  readonly scope: ScopeChange;
  readonly suspectChange: SuspectChange;
  /** Items in quarantine that are gone: set if the page ends a complete reading of the scope. */
  readonly unseen: Unseen | undefined;
  readonly walkEnd: WalkEnd | undefined;
  /** The scope's new memory. */
  readonly memory: ScopeMemory | undefined;
  /** The whole walk that ends with the page; null: it can't be compared with another; undefined: none ends. */
  readonly whole: WholeWalk | null | undefined;
  /** The scope is complete as of then, once a proof confirms that the page belongs to the account. */
  readonly completeAsOf: Date | undefined;
  /** Missing rows that came or changed too recently to be suspected: the next walk decides. */
  readonly overlooks: boolean;
}

export interface ChangedTable {
  readonly table: string;
  readonly userId: string;
  /** Decimal digits of a bigint. */
  readonly changeId: string;
}

/** Least time between two updates of an item's `last_seen_at`, ms: an unchanged page writes no row. */
export const STAMP_EVERY_MS = 3_600_000;

/** Items in quarantine that a complete reading of their scope did not see. */
export interface Unseen {
  /** Hashes of the items that it saw. */
  readonly seen: readonly string[];
  /** Items that were seen later stay. */
  readonly before: Date;
}
