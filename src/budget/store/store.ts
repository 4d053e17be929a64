import type { RateGroup } from '../rate-groups.ts';

/**
 * What the budget needs of a database, so that a SIGKILL costs no refused request (docs/design/rate-limit.md, "Reservations", invariant 6).
 *
 * All moments are milliseconds since the epoch on the *store's* clock (the database's `clock_timestamp()`), not
 * on this machine's: owners on different machines then agree, and a jump of the local wall clock does nothing.
 * The budget learns that clock from `now` in the answers and maps it to its own monotonic clock; errors of the
 * mapping only ever hold a slot longer.
 */
export interface BudgetStore {
  /**
   * Largest block that `reserve` takes: 1 for the store of first pings (one row each), else `Infinity`.
   */
  readonly largestBlock: number;

  /** What is known of a key. Read after the account was taken over, so that no older owner can add to it. */
  load(keyHash: string): Promise<LoadedBudget>;

  /**
   * Commits a reservation (fenced), and with it `freed`. Rows of this key and group that are older than
   * `BLOCK_MEMORY_MS` may be deleted on this occasion.
   * @returns the store's time from which `valid_until` was counted: valid_until = now + validForMs
   * @throws LeaseLost, DatabaseUnavailable: no request is sent; every task waiting in the group gets the error
   */
  reserve(keyHash: string, block: NewBlock, freed: FreedSlots): Promise<{ readonly now: number }>;

  /** Commits `freed` on its own (fenced): at a stop, and when no page comes by to carry it. */
  record(freed: FreedSlots): Promise<void>;
}

/** A limit is counted per group; `all` is the limit over all endpoints that some services add (docs/design/rate-limit.md, "After a 429"). */
export type StoredGroup = RateGroup | 'all';

/** A block of slots to be reserved: a row of slot_block. */
export interface NewBlock {
  readonly group: RateGroup;
  /** Unique for the key and group among the rows there are. */
  readonly blockId: number;
  readonly size: number;
  /** Requests are sent on it for this long after the call began. */
  readonly validForMs: number;
}

/**
 * What changed since the last time (moments on the store's clock): rides in the transaction of the owner's next page.
 * Each entry replaces what the row holds. Pages of different scopes commit in any order: an entry that was taken
 * before the one that the row holds (fewer moments freed, a smaller serial) changes nothing.
 */
export interface FreedSlots {
  readonly keyHash: string;
  /** `update slot_block set freed = $freed` for each. */
  readonly blocks: readonly FreedBlock[];
  /** Upsert of rate_group for each. */
  readonly learnt: readonly LearntRow[];
}

export interface FreedBlock {
  readonly group: RateGroup;
  readonly blockId: number;
  /** Moments at which the block's answered (or returned) slots come free again: the whole list, not additions. */
  readonly freed: readonly number[];
}

export interface LearntRow {
  readonly group: StoredGroup;
  readonly learnt: LearntRate;
}

/** What was learnt of a limit. Plain JSON; unknown or missing members are as good as none. */
export interface LearntRate {
  /** Rises with each taking, also from one process to the next (store's time, milliseconds, made unique). */
  readonly serial?: number;
  /** Requests of this group were accepted before: no careful first contact. */
  readonly contacted?: boolean;
  /** `X-RateLimit-Limit` by route, and when it was last seen. */
  readonly limits?: Readonly<Record<string, { readonly limit: number; readonly seenAt: number }>>;
  /** After a 429 that the model excluded: paced as for this limit, until that moment. */
  readonly paced?: {
    readonly limit: number;
    readonly guardMs: number;
    readonly fromAnswer: boolean;
    readonly until: number;
  };
  /** Group `all` only: the limit over all endpoints, believed until that moment. */
  readonly ceiling?: { readonly limit: number; readonly until: number };
  /** No `X-RateLimit-Limit` above the specification's is believed, until that moment. */
  readonly grantedOnlyUntil?: number;
  /** A Retry-After stops the group until that moment. */
  readonly pausedUntil?: number;
  /** `X-RateLimit-Remaining` of this group is broken, until that moment. */
  readonly remainingIgnoredUntil?: number;
}

/** A key's rows, as read. */
export interface LoadedBudget {
  /** The store's clock at the read. */
  readonly now: number;
  /**
   * False: nobody ever sent a request with this key (no row of api_key but for a first ping just now).
   * A known key of which nothing else is stored waits out one window, but for one request (its ping).
   */
  readonly known: boolean;
  /** Rows of slot_block, and first pings as blocks of size 1 in `other` with nothing freed. Expired ones may be left out. */
  readonly blocks: readonly LoadedBlock[];
  readonly learnt: readonly LearntRow[];
}

export interface LoadedBlock {
  readonly group: RateGroup;
  readonly blockId: number;
  readonly size: number;
  readonly validUntil: number;
  readonly freed: readonly number[];
}
