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
  /** The scope's `lastObs` as this process read or committed it last: with another one there nothing is written. */
  readonly after: number;
  /** As answered; undefined: the request was refused, or the answer was too large. */
  readonly page: Page | undefined;
  /**
   * A moment of the mirror's monotonic clock, milliseconds: the page's request was not sent before. Where a cache
   * answered, it had the answer no longer than since then.
   */
  readonly sentAfter: number;
  /** What it says of absence, of the list's order, and of its place there. */
  readonly taken: TakenPage;
  /** Its walk once it has taken the page; `single`: a reading of an endpoint that answers one object. */
  readonly walk: Walk | (Pick<Walk, 'began' | 'agedMs'> & { readonly kind: 'single' });
  /** The scope's memory, as stored and as the walk left it; undefined: the scope has none. */
  readonly memory: { readonly before: ScopeMemory; readonly after: ScopeMemory } | undefined;
  /** Given where the walk ends with this page. */
  readonly end: (End & AtEnd) | undefined;
  /** When this run of the walk began. */
  readonly startedAt: Date;
  /** When its first request was sent, by the database's clock; undefined: that was this page's. */
  readonly firstSentAt: Date | undefined;
  /** Of this run of the walk, without the changes by this page. */
  readonly totals: ReadTotals;
  /** As of when the scope's new and unfinished rows were mirrored before. */
  readonly polledAt: Date | undefined;
  /** When the scope's last reading began that has ended. */
  readonly lastReadAt: Date | undefined;
  /** A poll between its cron line's runs: `sync_log` has no row of it where it finds nothing. */
  readonly early: boolean;
  /** What the full walk under way has seen, where that may prove something. */
  readonly whole: WholeReading | undefined;
  /** Hashes of the items in quarantine that were seen since the full walk under way began; undefined: not known. */
  readonly badItems: ReadonlySet<string> | undefined;
  /**
   * More work for the page's transaction: the budget's freed slots. Done again where the page is written again, and
   * not done where nothing of it is written.
   */
  readonly alsoInTransaction: (trx: Db) => Promise<void>;
}

/** What the end of a walk makes true. */
export interface AtEnd {
  /** As of when the scope's new and unfinished rows are mirrored. */
  readonly polledAt?: Date | undefined;
  /** Keys of rows that earlier pages showed and that are not believed yet: until they are, `polledAt` stays. */
  readonly unbelieved?: readonly string[];
  /** Freshness of the collection. */
  readonly collection?: CollectionChange | undefined;
}

/**
 * What an item of the page was to the mirror:
 * - `inserted`: a key never seen; `updated`: other content than stored; `undeleted`: a deleted row is back
 * - `unchanged`: nothing to write
 * - `deferred`: older content contradicts a deletion or a change that was observed less than MIRROR_SETTLE ago: the
 *   page may be stale, and a later sighting decides (docs/design/deletions.md, "Returns")
 * - `duplicate`: the page has the key again further down; the last one counts
 * - `quarantined`: can't be mirrored; kept verbatim aside
 * - `forgotten`: was erased on request, and is not mirrored again
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

export interface ObservedPage {
  /** One outcome for each item of the page, in its order. */
  readonly outcomes: readonly ItemOutcome[];
  readonly counts: PageCounts;
  /** The database's clock in this transaction: `_changed_at` of the rows that it changes. */
  readonly at: Date;
  /** When the page's request was sent, by the same clock. */
  readonly sentAt: Date;
  /** Content hash of each item, hexadecimal, in the page's order; undefined for one that can't be mirrored. */
  readonly hashes: readonly (string | undefined)[];
  /** Live rows that the page proves absent. */
  readonly missing: readonly MissingRow[];
  /** Suspected deletions among the page's keys and the missing rows. */
  readonly suspects: readonly SuspectedDeletion[];
  /** Hashes of its items that are in quarantine. */
  readonly quarantined: readonly string[];
}

/** How many of the page's items had each outcome. */
export type PageCounts = Readonly<Record<ItemOutcome, number>>;

/** Changes of a scope's row; what is left out stays as it is. JSON values are stored as they are given. */
export interface ScopeChange {
  /**
   * Order evidence, frontier, what was learnt of the endpoint. Left out where it is the same: each write costs WAL.
   */
  readonly memory?: unknown;
  /** Checkpoint of the full walk under way; null: there is none now. */
  readonly fullWalk?: unknown;
  /** The scope is no longer due for reasons known up to this moment; a later hint stays. */
  readonly clearDueUntil?: Date;
  readonly lastReadAt?: Date;
  readonly polledAt?: Date;
  readonly fullAt?: Date;
  readonly completeAsOf?: Date;
  /** A failure to remember (counted), or null: it works again. */
  readonly failure?: { readonly message: string; readonly at: Date } | null;
}

/** An item of a page that can't be stored. */
export interface BadItem {
  /** Its place in the page. */
  readonly index: number;
  readonly item: Item;
  /** To follow "the item …". */
  readonly reason: string;
}

export type PageResult =
  | (ObservedPage & {
      readonly state: 'applied';
      readonly decided: Decided;
      /** For NOTIFY after the commit: the greatest `_change_id` of the page; undefined where no row changed. */
      readonly changed: ChangedTable | undefined;
    })
  /** Nothing of the page was written: its list is deleted, or forgotten. */
  | { readonly state: 'parent_deleted' };

/** What is stored with a page, by what it was to the mirror, and what its walk goes on with. */
export interface Decided {
  readonly scope: ScopeChange;
  readonly suspectChange: SuspectChange;
  /** Items in quarantine that are gone: given where the page ends a complete reading of the scope. */
  readonly unseen: Unseen | undefined;
  readonly walkEnd: WalkEnd | undefined;
  /** The scope's memory from then on. */
  readonly memory: ScopeMemory | undefined;
  /** The whole walk that ends with the page, to be compared with a later one; null: there is none. */
  readonly whole: WholeWalk | null;
  /** Everything is mirrored as of then, once a proof confirms that the page is the account's own. */
  readonly completeAsOf: Date | undefined;
  /** Rows are missing that came or changed too lately to be suspected: the next walk decides. */
  readonly overlooks: boolean;
}

export interface ChangedTable {
  readonly table: string;
  readonly userId: string;
  /** Decimal digits of a bigint. */
  readonly changeId: string;
}

/** How often an item that is seen again gets a new `last_seen_at` at most: an unchanged page writes no row. */
export const STAMP_EVERY_MS = 3_600_000;

/** Items in quarantine that a complete reading of their scope did not see. */
export interface Unseen {
  /** Hashes of those that it saw. */
  readonly seen: readonly string[];
  /** Items that others saw later than this stay. */
  readonly before: Date;
}
