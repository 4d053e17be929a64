import type { RateGroup } from './rate-groups.ts';

/**
 * The database as the budget needs it, so that a SIGKILL causes no 429 (invariant 6; docs/design/rate-limit.md,
 * "Reservations"). All moments are milliseconds since the epoch on the *store's* clock (the database's
 * `clock_timestamp()`): owners on different machines agree, and a jump of the local wall clock has no effect.
 */
export interface BudgetStore {
  /** Largest block that `reserve` takes: 1 for the store of first pings (one row each), else `Infinity`. */
  readonly largestBlock: number;

  /** What is known of a key. Called after the account was taken over: no older owner can add to it. */
  load(keyHash: string): Promise<LoadedBudget>;

  /**
   * Commits a reservation and `freed` (fenced). It may delete rows of this key and group older than
   * `BLOCK_MEMORY_MS`.
   * @returns the store's time `now`: valid_until = now + validForMs
   * @throws LeaseLost, DatabaseUnavailable: no request is sent; every task waiting in the group gets the error
   */
  reserve(keyHash: string, block: NewBlock, freed: FreedSlots): Promise<{ readonly now: number }>;

  /** Commits `freed` alone (fenced): at a stop, and when no page comes that could carry it. */
  record(freed: FreedSlots): Promise<void>;
}

/** `all`: one pace of all groups (docs/design/rate-limit.md, "After a 429"). */
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
 * Changes since the last time, for the transaction of the owner's next page. Each entry replaces what its row has.
 * Pages of different scopes commit in any order: an older entry (fewer moments freed, a smaller serial) changes
 * nothing.
 */
export interface FreedSlots {
  readonly keyHash: string;
  /** `update slot_block set freed = $freed` for each: when its answered or returned slots come free again, all of them. */
  readonly blocks: readonly {
    readonly group: RateGroup;
    readonly blockId: number;
    readonly freed: readonly number[];
  }[];
  /** Upsert of rate_group for each. */
  readonly learnt: readonly LearntRow[];
}

export interface LearntRow {
  readonly group: StoredGroup;
  readonly learnt: LearntRate;
}

/** What was learnt of a limit. JSON; any member may be missing, unknown ones are ignored. */
export interface LearntRate {
  /** Rises with each `takeFreed`, across processes too: the store's time in milliseconds, made unique. */
  readonly serial?: number;
  /** Of `all`: requests of this key were accepted before, the careful start is over. */
  readonly contacted?: boolean;
  /** `X-RateLimit-Limit` by route, and when it was last seen. */
  readonly limits?: Readonly<Record<string, { readonly limit: number; readonly seenAt: number }>>;
  /** Which limit is believed: not above the least of those. */
  readonly believed?: number;
  /** Even spacing after a 429 until that moment; a next one lasts twice as long. Without `from`: something explains it. */
  readonly pace?: {
    readonly until: number;
    readonly lastsMs: number;
    readonly from?: number;
    readonly free?: number;
  };
  /** A Retry-After stops the group until that moment. */
  readonly pausedUntil?: number;
  /** `X-RateLimit-Remaining` of this group is not believed until that moment. */
  readonly remainingIgnoredUntil?: number;
}

/** A key's rows, as read. */
export interface LoadedBudget {
  /** The store's clock at the read. */
  readonly now: number;
  /**
   * False: nobody ever sent a request with this key (api_key has no row, or one of a first ping just now). A known
   * key without other rows waits out one window after its first request, a ping.
   */
  readonly known: boolean;
  /** Rows of slot_block, and first pings as blocks of one slot in `other`, not freed. Expired ones may be missing. */
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

/**
 * Maps our monotonic clock to the store's clock and back, by the last exchange with the store. Errors of the mapping
 * only ever keep a slot in use longer. The next exchange corrects a jump of either wall clock.
 */
export class StoreTime {
  /** Store time − monotonic time. For writing: at least the true one. */
  #offset: number;

  /** @param storeNow the store's time in an answer that arrived before the monotonic moment `now` */
  constructor(storeNow: number, now: number) {
    // For reading: at most the true one, so that stored moments seem later than they are.
    this.#offset = storeNow - now;
  }

  /** @param storeNow the store's time in the answer to a call that began at the monotonic moment `calledAt` */
  learn(storeNow: number, calledAt: number): void {
    this.#offset = storeNow - calledAt;
  }

  toStore(moment: number): number {
    return Math.ceil(moment + this.#offset);
  }

  fromStore(moment: number): number {
    return moment - this.#offset;
  }
}
