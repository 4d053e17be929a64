/** What the budget stores, and how a process continues with what is stored. Pure: the SQL is in budget-store.ts. */

import { type GroupBudget, TRUST_AFTER } from './group-budget.ts';
import { type BudgetSnapshot, KeyBudget } from './key-budget.ts';
import type { RateGroup, StoredGroup } from './rate-groups.ts';
import { LONGEST_PAUSE_MS } from './rate-headers.ts';
import { BLOCK_VALID_MS, IN_USE_MS, UNANSWERED_MS } from './slots.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * The database as the budget needs it, so that a SIGKILL causes no 429 (invariant 6; docs/design/rate-limit.md,
 * "Reservations"). Moments are ms since the epoch on the store's clock (the database's `clock_timestamp()`): owners on
 * different machines agree, and a jump of the local wall clock has no effect.
 */
export interface BudgetStore {
  /** Largest block that `reserve` takes: 1 for first pings (one row each), else `Infinity`. */
  readonly largestBlock: number;
  /** What is known of a key. Called after the account was taken over: no older owner can add to it. */
  load(keyHash: string): Promise<LoadedBudget>;
  /**
   * Commits a reservation and `freed` (fenced). It may delete rows of this key and group older than `BLOCK_MEMORY_MS`.
   * @returns the store's time `now`: the block is valid until now + validForMs
   * @throws LeaseLost, DatabaseUnavailable: no request is sent; every task that waits in the group gets the error
   */
  reserve(keyHash: string, block: NewBlock, freed: FreedSlots): Promise<{ readonly now: number }>;
  /** Commits `freed` alone (fenced): at a stop, and when no page comes that could carry it. */
  record(freed: FreedSlots): Promise<void>;
}

/** A block of slots to be reserved: a row of slot_block. */
export interface NewBlock {
  readonly group: RateGroup;
  /** Unique among the rows of the key and group. */
  readonly blockId: number;
  readonly size: number;
  /** How long requests are sent on it after the call began, ms. */
  readonly validForMs: number;
}

export interface LoadedBlock extends Omit<NewBlock, 'validForMs'> {
  readonly validUntil: number;
  /** When its answered or returned slots come free again. */
  readonly freed: readonly number[];
}

/**
 * Changes for the transaction of the owner's next page. Each entry replaces its row's value, but an older one (fewer
 * moments freed, a smaller serial) changes nothing: pages of different scopes commit in any order.
 */
export interface FreedSlots {
  readonly keyHash: string;
  readonly blocks: readonly Pick<LoadedBlock, 'group' | 'blockId' | 'freed'>[];
  readonly learnt: readonly LearntRow[];
}

export type LearntRow = Readonly<{ group: StoredGroup; learnt: LearntRate }>;

/** What was learnt of a limit. JSON; any member may be missing, unknown ones are ignored. */
export interface LearntRate {
  /** Rises with each `takeFreed`, across processes too: the store's time in ms, made unique. */
  readonly serial?: number;
  /** Of `all`: requests of this key were accepted before, the careful start is over. */
  readonly contacted?: boolean;
  /** `X-RateLimit-Limit` by route, and when it was last seen. */
  readonly limits?: Readonly<Record<string, { readonly limit: number; readonly seenAt: number }>>;
  /** The limit that is believed: not above the least of `limits`. */
  readonly believed?: number;
  /** See `Pace`; without `from`, something explains the 429. */
  readonly pace?: { until: number; lastsMs: number; from?: number; free?: number };
  /** A Retry-After stops the group until that moment. */
  readonly pausedUntil?: number;
  /** `X-RateLimit-Remaining` of this group is not believed until that moment. */
  readonly remainingIgnoredUntil?: number;
}

/** A key's rows, as read at the store's time `now`. */
export interface LoadedBudget {
  readonly now: number;
  /** Whether the key was ever used. A known key without other rows waits out a window after its first ping. */
  readonly known: boolean;
  /** Rows of slot_block, and first pings as blocks of one slot in `other`, not freed. Expired ones may be missing. */
  readonly blocks: readonly LoadedBlock[];
  readonly learnt: readonly LearntRow[];
}

/**
 * Maps our monotonic clock to the store's clock and back, by the last exchange with the store. Errors of the mapping
 * only ever keep a slot in use longer. The next exchange corrects a jump of either wall clock.
 */
export class StoreTime {
  /** Store time − monotonic time: at most the true one for reading stored moments, at least for writing them. */
  #offset: number;

  /** @param storeNow the store's time in an answer that arrived before the monotonic moment `now` */
  constructor(storeNow: number, now: number) {
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

/** What the store keeps of a group, or of all of them, in the store's time. */
export function learntRate(key: KeyBudget, name: StoredGroup, now: number, time: StoreTime): LearntRate {
  const { pace, pausedUntil } = name === 'all' ? key : key.groups[name];
  const { lastsMs, from, free } = pace;
  const rate = from === Infinity ? {} : { from, free };
  const learnt = {
    ...(pace.isRemembered(now) ? { pace: { until: time.toStore(pace.until), lastsMs, ...rate } } : {}),
    ...(pausedUntil > now ? { pausedUntil: time.toStore(pausedUntil) } : {}),
  };
  if (name === 'all') return { ...learnt, contacted: key.accepted >= TRUST_AFTER.bursts };
  const { limits, others } = key.groups[name];
  const routes = limits
    .entries(now)
    .map(({ route, limit, seenAt }) => [route, { limit, seenAt: time.toStore(seenAt) }] as const);
  return {
    ...learnt,
    believed: limits.believed(now),
    limits: Object.fromEntries(routes),
    ...(others.ignoredUntil > now ? { remainingIgnoredUntil: time.toStore(others.ignoredUntil) } : {}),
  };
}

/** Takes over what earlier processes used and learnt; leaves out what has expired or makes no sense. */
export function inherit(key: KeyBudget, loaded: LoadedBudget, now: number, time: StoreTime): void {
  const { known, blocks, learnt } = loaded;
  // Rows may be of another version of this program, with other groups.
  const groups = new Map<string, GroupBudget>(Object.entries(key.groups));
  key.accepted = known ? 1 : 0;
  // The key was used before, and no rows of it are left: as if its window had just been filled.
  if (known && blocks.length === 0 && learnt.length === 0) key.quietUntil = now + IN_USE_MS;
  // A slot that was not recorded as freed counts as sent at its reservation's end, without an answer: the server
  // cannot have counted it later. Only a row from before the store's clock was put back has a moment after `latest`.
  const latest = now + BLOCK_VALID_MS + UNANSWERED_MS;
  for (const { group, size, validUntil, freed } of blocks) {
    const log = groups.get(group)?.log;
    for (const moment of freed) log?.inherit(Math.min(latest, time.fromStore(moment) - IN_USE_MS));
    for (let open = size - freed.length; open > 0; open -= 1) {
      log?.inherit(Math.min(latest, time.fromStore(validUntil) + UNANSWERED_MS));
    }
  }
  // Nothing is kept for longer than it is remembered, whatever happened to the store's clock.
  const until = (moment: number | undefined, memoryMs: number): number =>
    Math.min(now + memoryMs, time.fromStore(moment ?? -Infinity));
  for (const { group: name, learnt: rate } of learnt) {
    const group = groups.get(name);
    const paced = name === 'all' ? key : group;
    if (paced === undefined) continue;
    paced.pausedUntil = until(rate.pausedUntil, LONGEST_PAUSE_MS);
    if (rate.pace !== undefined) {
      const { from = Infinity, free = 0, lastsMs } = rate.pace;
      Object.assign(paced.pace, { from, free, lastsMs, until: until(rate.pace.until, DAY_MS) });
    }
    if (name === 'all' && rate.contacted === true) key.accepted = TRUST_AFTER.bursts;
    if (group === undefined) continue;
    const named = Object.entries(rate.limits ?? {});
    const routes = named.filter(([, { limit }]) => Number.isInteger(limit) && limit > 0);
    for (const [route, { limit, seenAt }] of routes) group.limits.inherit(route, limit, until(seenAt, 0));
    // Older programs stored limits that they believed, and nothing else.
    group.limits.believe(rate.believed ?? Math.min(...routes.map(([, { limit }]) => limit)));
    group.others.ignoredUntil = until(rate.remainingIgnoredUntil, HOUR_MS);
  }
}

/** A key that another process uses, as the store shows it: without others' use and waiting tasks. */
export function storedSnapshot(loaded: LoadedBudget, share: number): BudgetSnapshot {
  const key = new KeyBudget(share);
  inherit(key, loaded, 0, new StoreTime(loaded.now, 0));
  return key.snapshot(0, () => 0);
}
