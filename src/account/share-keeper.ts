import { hash } from 'node:crypto';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { countOf } from '@research-mirror/runtime/figures';
import type { Logger } from '@research-mirror/runtime/logger';
import { type Service, service } from '@research-mirror/runtime/service';
import type { FleetStore, SeenFleet } from '../postgres/lease.ts';
import type { FailureLog } from './failure-log.ts';
import type { ProcessContext } from './process.ts';
import { ownedBy } from './with-account.ts';

/** An account of this daemon's keys, as the sharing sees it. */
export interface SharedAccount {
  readonly userId: string;
  /** `unable`: left to others; `waits` for its turn; `busy`: is opened or closed; `works`: owned and read here. */
  standing(): 'unable' | 'waits' | 'busy' | 'works';
  take(): void;
  /** Stops and releases it, so that another daemon takes it. */
  giveUp(): void;
}

/** Interval of looks while nothing wakes this daemon and no heartbeat runs out, ms. */
const LOOK_MS = 4_000;
/** Interval of looks while accounts change hands, ms. */
const ROUND_MS = 1_000;
const MOST_GIVEN_UP = 16;
/** First retry delay while an unowned account is left to another daemon, ms; doubles up to ROUND_MS. */
const LEFT_MS = 250;
/** Rings within this time after a look are answered together, ms. */
const COALESCE_MS = 100;
/** Margin after which a heartbeat has certainly run out, ms. */
const RUN_OUT_MS = 20;
/**
 * Time within which every living process beats again after an outage, ms: a heartbeat and a margin. No process counts
 * as dead before, or the first daemon that is back would take all accounts.
 */
const PATIENCE_MS = 6_000;

/**
 * Takes the free accounts of this daemon's share (`shareOut`) and gives up those of others. A daemon with outdated
 * information fails to take an account (lease.ts) or leaves it for one more look. A daemon that is alone and owns all
 * its accounts sends no query.
 * @param bell rings if an account here or another daemon may have changed
 */
export function shareKeeper(
  context: Pick<ProcessContext, 'processId' | 'hasOthers' | 'interruptedAt' | 'clock'>,
  log: Pick<Logger, 'info'>,
  failures: Pick<FailureLog, 'failed'>,
  store: FleetStore,
  accounts: () => readonly SharedAccount[],
  bell: Doorbell,
): Service {
  const { processId: self, clock } = context;
  let failedAt = Number.NEGATIVE_INFINITY;
  let share = '';
  let wasShared = false;
  /** Why waiting accounts can't be taken, and the number of consecutive looks that found it. */
  let unavailable = new Map<string, { readonly why: string; readonly looks: number }>();

  /** Logs once why accounts can't be taken, at the second look: a stopping process is gone by then. */
  const tellUnavailable = (waiting: readonly SharedAccount[], { living, accounts }: SeenFleet): void => {
    const before = unavailable;
    unavailable = new Map();
    for (const { userId } of waiting) {
      const row = accounts.get(userId);
      const owner = living.find(({ processId }) => processId === row?.owner);
      const isTaken = owner !== undefined && owner.serves === undefined;
      if (!isTaken && row?.retired !== true) continue;
      const why = isTaken
        ? ownedBy(userId, owner)
        : `account ${userId} is retired: its key in MIRROR_API_KEY is not used`;
      const known = before.get(userId);
      const looks = known?.why === why ? known.looks + 1 : 1;
      unavailable.set(userId, { why, looks });
      if (looks === 2) log.info(why);
    }
  };

  /** @returns milliseconds until the next look */
  const look = async (): Promise<number> => {
    const able = accounts().filter((each) => each.standing() !== 'unable');
    const waiting = able.filter((each) => each.standing() === 'waits');
    if (!context.hasOthers() && waiting.length === 0) return LOOK_MS;
    const seen = await store.look();
    const own = seen.living.find(({ processId }) => processId === self);
    const serves = new Set(able.map(({ userId }) => userId));
    if (own?.serves === undefined || serves.symmetricDifference(own.serves).size > 0) {
      await store.offer(serves);
      if (context.hasOthers()) await store.wakeOthers();
    }
    tellUnavailable(waiting, seen);

    const missedAt = Math.max(failedAt, context.interruptedAt());
    const isPatient = clock.monotonic() - missedAt < PATIENCE_MS;
    const alive = new Set(seen.living.map(({ processId }) => processId));
    const owners = new Map<string, string | undefined>();
    for (const { userId, owner, retired } of seen.accounts.values())
      if (!retired) owners.set(userId, owner !== null && (isPatient || alive.has(owner)) ? owner : undefined);
    // Another version may share by another rule: its daemons' accounts are left alone, as with commands. If this
    // daemon's row was removed or the database went back, it is alone until the next heartbeat restores the row.
    const me = { id: self, serves, prompt: true };
    const daemons = seen.living.flatMap(({ processId, version, serves: offered, prompt }) => {
      if (processId === self) return [me];
      const isPeer = offered !== undefined && version === own?.version;
      return isPeer ? [{ id: processId, serves: offered, prompt }] : [];
    });
    if (own === undefined) daemons.push(me);
    const targets = shareOut(owners, daemons);

    let isLeft = false;
    let isMoving = false;
    let givenUp = 0;
    for (const account of able) {
      const target = targets.get(account.userId);
      const owner = owners.get(account.userId);
      if (target === self) {
        // Including its own that it does not work on, as after a failure.
        if ((owner !== undefined && owner !== self) || account.standing() !== 'waits') continue;
        account.take();
        isMoving = true;
      } else if (target !== undefined && owner === undefined) isLeft = true;
      else if (target !== undefined && owner === self) {
        isMoving = true;
        // Including those that are being closed.
        givenUp += 1;
        if (givenUp <= MOST_GIVEN_UP && account.standing() === 'works') account.giveUp();
      }
    }
    const isShared = daemons.length > 1;
    const ours = [...targets.values()].filter((target) => target === self).length;
    const as = isShared ? `one of ${daemons.length} daemons` : 'the only daemon';
    const next = `share of this daemon: ${ours} of ${countOf(serves.size, 'account')}, as ${as}`;
    // A daemon that was alone from the start has nothing to log.
    if (next !== share && (isShared || wasShared)) log.info(next);
    [share, wasShared] = [next, isShared];
    if (isLeft) return LEFT_MS;
    if (isMoving || isPatient) return ROUND_MS;
    const leftMs = seen.living.filter((each) => each !== own).map((each) => Math.max(0, each.leftMs));
    return Math.min(LOOK_MS, ...leftMs.map((ms) => ms + RUN_OUT_MS));
  };

  return service('sharing', async ({ signal, ready }) => {
    ready();
    try {
      for (;;) {
        let waitMs = ROUND_MS;
        try {
          waitMs = await look();
        } catch (error) {
          failures.failed('sharing', 'sharing accounts', error);
          failedAt = clock.monotonic();
        }
        await clock.sleep(Math.min(COALESCE_MS, waitMs), signal);
        await bell.heardWithin(waitMs, clock, signal);
      }
    } finally {
      // Before its accounts are released, so that no daemon leaves them to this one.
      await store.withdraw().catch(() => {});
      await store.wakeOthers();
    }
  });
}

export type FleetDaemon = Parameters<typeof shareOut>[1][number];

/**
 * Assigns accounts to daemons by rendezvous hashing with bounded loads. Accounts that the same daemons serve form a
 * group; groups with the fewest daemons come first. A group has as many places as accounts, each given to the daemon
 * with the fewest so far, the oldest first. Each account then goes to the daemon with the highest hash among those with
 * a free place. If all daemons have the same keys, each of d daemons gets ⌊n/d⌋ or ⌈n/d⌉ of n accounts. The present
 * owners do not matter, so all daemons get the same result and nothing flaps; but a daemon with a late heartbeat
 * keeps what it has and gets nothing new.
 * @param owners of all accounts, by user ID; undefined: no living process owns it
 * @param daemons the oldest first. Each serves the accounts for which it has a good key, and is prompt if its last
 *   heartbeat is recent enough to take accounts at once
 * @returns daemon by user ID, without accounts of late daemons and accounts that no prompt daemon serves
 */
export function shareOut(
  owners: ReadonlyMap<string, string | undefined>,
  daemons: readonly {
    readonly id: string;
    readonly serves: ReadonlySet<string>;
    readonly prompt: boolean;
  }[],
): ReadonlyMap<string, string> {
  const late = new Set(daemons.filter(({ prompt }) => !prompt).map(({ id }) => id));
  const groups = Map.groupBy([...owners.keys()].toSorted(), (userId) =>
    daemons
      .filter(({ serves }) => serves.has(userId))
      .map(({ id }) => id)
      .join(),
  );
  const targets = new Map<string, string>();
  const loads = new Map(daemons.map(({ id }) => [id, 0]));
  const load = (id: string): number => loads.get(id) ?? 0;
  const named = Array.from(groups, ([ids, group]) => ({ ids: ids.split(','), group }));
  for (const { ids, group: all } of named.toSorted((a, b) => a.ids.length - b.ids.length)) {
    const servers = ids.filter((id) => id !== '' && !late.has(id));
    if (servers.length === 0) continue;
    const group = all.filter((userId) => !late.has(owners.get(userId) ?? ''));
    const places = new Map<string, number>();
    for (const _ of group) {
      const least = servers.reduce((best, id) => (load(id) < load(best) ? id : best));
      loads.set(least, load(least) + 1);
      places.set(least, (places.get(least) ?? 0) + 1);
    }
    for (const userId of group) {
      const choices = [...places]
        .filter(([, left]) => left > 0)
        .map(([id, left]) => ({ id, left, weight: hash('sha256', `${id} ${userId}`) }));
      const choice = choices.reduce((best, next) => (next.weight > best.weight ? next : best));
      places.set(choice.id, choice.left - 1);
      targets.set(userId, choice.id);
    }
  }
  return targets;
}
