import type { FleetStore, SeenFleet } from '../../db/ownership/fleet-store.ts';
import type { LivingProcess } from '../../db/ownership/lease.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, service } from '@research-mirror/runtime/service';
import { type Fleet, roundOf } from './share-out.ts';

/** An account of this daemon's keys, as the sharing sees it. */
export interface SharedAccount {
  readonly userId: string;
  /**
   * - `unable`: this daemon can do nothing for it, and leaves it to others
   * - `waits`: for its turn
   * - `busy`: being opened, or closed
   * - `works`: this daemon owns it, and reads it
   */
  standing(): 'unable' | 'waits' | 'busy' | 'works';
  /** It is its turn. */
  take(): void;
  /** Ends the work on it and releases it, so that another daemon takes it. */
  giveUp(): void;
}

export interface ShareKeeperOptions {
  readonly store: FleetStore;
  readonly self: string;
  readonly accounts: () => readonly SharedAccount[];
  /** Whether other daemons live: as of a few seconds ago, and for nothing. */
  readonly hasOthers: () => boolean;
  /** When this process last missed the database, on `clock.monotonic()`. */
  readonly interruptedAt: () => number;
  /** Rung when an account here, or another daemon, may have changed. */
  readonly bell: Doorbell;
  readonly clock: Clock;
  /**
   * An account can't be had: it is retired, or a process has it that takes no part. Told once for each holder, a process
   * at the second look: one that is stopping is gone by then.
   */
  readonly onUnavailable: (userId: string, holder: LivingProcess | 'retired') => void;
  /** This daemon's part has changed. */
  readonly onShare: (share: Share) => void;
  readonly onFailure: (error: unknown) => void;
}

export interface Share {
  /** Accounts that this daemon has, or is about to take. */
  readonly own: number;
  /** Accounts of its keys. */
  readonly of: number;
  /** Daemons, itself included. */
  readonly daemons: number;
}

/** Between two looks (ms) while other daemons live, where nothing wakes this one and no heartbeat runs out. */
const LOOK_MS = 4_000;
/** The same while a process has an account that this daemon waits for, and no other daemon lives. */
const TAKEN_MS = 2_000;
/** The same while accounts change hands; accounts that are given up in that time at most. */
const ROUND_MS = 1_000;
const MOST_GIVEN_UP = 16;
/**
 * The same while an account has no owner and this daemon leaves it to another one: doubling up to a round. Who saw
 * another moment may leave it to this one, and nobody rings any more.
 */
const LEFT_MS = 125;
/** How often (ms) a daemon that is alone looks whether an account of its keys is still retired. */
const RETIRED_MS = 30_000;
/** Rings (ms) after a look are answered together. */
const COALESCE_MS = 100;
/** A heartbeat has run out for certain (ms) after its time. */
const RUN_OUT_MS = 20;
/**
 * After an outage whoever lives beats again within that time (ms): a heartbeat, and a margin. Until then nobody is taken
 * for dead: else the first one that is back takes the accounts of all others.
 */
const PATIENCE_MS = 6_000;

/**
 * Takes and gives up accounts, so that all daemons own equally many (share-out.ts). Each daemon sees the same in
 * Postgres and comes to the same; who sees something older tries in vain to take an account (lease.ts), or waits for a
 * moment. A daemon that is alone asks nothing as long as it owns all its accounts.
 */
export function shareKeeper(options: ShareKeeperOptions): Service {
  const { store, self, clock, bell, hasOthers } = options;
  let offered: string | undefined;
  let shared = '';
  let failedAt = Number.NEGATIVE_INFINITY;
  let retired: SeenFleet['retired'] = new Set();
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** Looks in a row that left an account without an owner to another daemon. */
  let left = 0;
  const unavailable = new Map<string, { readonly by: string; readonly told: boolean }>();

  const tellUnavailable = ({ living, accounts, retired }: SeenFleet, waiting: ReadonlySet<string>): void => {
    const holders = new Map<string, LivingProcess | 'retired'>();
    for (const userId of waiting) if (retired.has(userId)) holders.set(userId, 'retired');
    for (const { userId, owner } of accounts) {
      const holder = owner === null ? undefined : living.get(owner);
      if (holder !== undefined && holder.serves === undefined && waiting.has(userId))
        holders.set(userId, holder);
    }
    for (const userId of unavailable.keys()) if (!holders.has(userId)) unavailable.delete(userId);
    for (const [userId, holder] of holders) {
      const by = holder === 'retired' ? holder : holder.processId;
      const before = unavailable.get(userId);
      const again = before?.by === by;
      const tell = again || holder === 'retired';
      if (tell && !(again && before.told)) options.onUnavailable(userId, holder);
      unavailable.set(userId, { by, told: tell });
    }
  };

  /** @returns milliseconds until the next look */
  const look = async (): Promise<number> => {
    const all = options.accounts();
    const able = all.filter((each) => each.standing() !== 'unable');
    const serves = able.map(({ userId }) => userId);
    const waiting = new Set(able.filter((each) => each.standing() === 'waits').map(({ userId }) => userId));
    const others = hasOthers();
    const isNew = offered !== listed(serves);
    const isRetired = (userId: string): boolean =>
      retired.has(userId) && clock.monotonic() - lookedAt < RETIRED_MS;
    if (!isNew && !others && [...waiting].every(isRetired)) return LOOK_MS;
    if (isNew) {
      await store.offer(serves);
      offered = listed(serves);
    }
    const seen = await store.look();
    const missedAt = Math.max(failedAt, options.interruptedAt());
    const isPatient = clock.monotonic() - missedAt < PATIENCE_MS;
    ({ retired } = seen);
    lookedAt = clock.monotonic();
    // Its row was removed, and made anew by a heartbeat; or the database went back.
    const stored = seen.living.get(self);
    const isForgotten = stored !== undefined && listed(stored.serves) !== offered;
    if (isForgotten) offered = undefined;
    tellUnavailable(seen, waiting);
    const fleet = fleetOf(seen, self, new Set(serves), isPatient);
    const { take, giveUp, leave } = roundOf(fleet, self, MOST_GIVEN_UP);
    const byId = new Map(all.map((each) => [each.userId, each]));
    let taken = 0;
    for (const userId of take) {
      const account = byId.get(userId);
      if (account?.standing() !== 'waits') continue;
      account.take();
      taken += 1;
    }
    for (const userId of giveUp) {
      const account = byId.get(userId);
      if (account?.standing() === 'works') account.giveUp();
    }
    tellShare(fleet, take, giveUp);
    if (isNew && others) await store.wakeOthers();
    left = leave.length > 0 ? left + 1 : 0;
    if (left > 0) return Math.min(ROUND_MS, LEFT_MS * 2 ** (left - 1));
    // Of its own accounts, too, `take` tells that they are to stay.
    if (taken > 0 || giveUp.length > 0 || isForgotten || isPatient) return ROUND_MS;
    const waitMs = others || [...waiting].every(isRetired) ? LOOK_MS : TAKEN_MS;
    return Math.min(waitMs, seen.expiresInMs + RUN_OUT_MS);
  };

  const tellShare = (
    { daemons, accounts }: Fleet,
    take: readonly string[],
    giveUp: readonly string[],
  ): void => {
    const serves = daemons.find(({ id }) => id === self)?.serves;
    const owned = accounts.filter(({ userId, owner }) => owner === self && serves?.has(userId) === true);
    const own = new Set([...owned.map(({ userId }) => userId), ...take]).size - giveUp.length;
    const share = { own, of: serves?.size ?? 0, daemons: daemons.length };
    if (JSON.stringify(share) === shared) return;
    shared = JSON.stringify(share);
    options.onShare(share);
  };

  return service('sharing', async ({ signal, ready }) => {
    ready();
    let failing = false;
    try {
      for (;;) {
        let waitMs = ROUND_MS;
        try {
          waitMs = await look();
          failing = false;
        } catch (error) {
          if (!failing) options.onFailure(error);
          failing = true;
          failedAt = clock.monotonic();
          offered = undefined;
        }
        await clock.sleep(Math.min(COALESCE_MS, waitMs), signal);
        const over = new AbortController();
        const either = AbortSignal.any([signal, over.signal]);
        await Promise.race([bell.heard(either), clock.sleep(waitMs, either)]).finally(() => over.abort());
      }
    } finally {
      // Before its accounts are released: nobody leaves them to this daemon then.
      await store.withdraw().catch(() => {});
      await store.wakeOthers();
    }
  });
}

/** A list of accounts, in whatever order, as one text; undefined: there is none. */
function listed(serves: Iterable<string> | undefined): string | undefined {
  return serves && [...serves].toSorted().join();
}

/** @param isPatient whoever owns an account counts as alive */
function fleetOf(
  { living, accounts }: SeenFleet,
  self: string,
  serves: ReadonlySet<string>,
  isPatient: boolean,
): Fleet {
  const others = [...living].flatMap(([id, process]) =>
    id === self || process.serves === undefined
      ? []
      : [{ id, serves: process.serves, prompt: process.prompt }],
  );
  return {
    daemons: [{ id: self, serves, prompt: true }, ...others],
    accounts: accounts.map(({ userId, owner }) => ({
      userId,
      owner: owner !== null && (owner === self || isPatient || living.has(owner)) ? owner : undefined,
    })),
  };
}
