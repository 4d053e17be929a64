import { BLOCK_VALID_MS } from './reservations.ts';
import { type Group, type Pace } from './group-budget.ts';
import { type BudgetSnapshot, Key } from './key-budget.ts';
import { LONGEST_PAUSE_MS } from './rate-headers.ts';
import { IN_USE_MS, UNANSWERED_MS } from './slot-log.ts';
import { type LearntRate, type LoadedBudget, type StoredGroup, StoreTime } from './slot-store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** What the store keeps of a group, or of all of them, in the store's time. */
export function learntRate(key: Key, name: StoredGroup, now: number, time: StoreTime): LearntRate {
  const { pace, pausedUntil } = name === 'all' ? key : key.group(name);
  return {
    ...(pace.isRemembered(now) ? { pace: storedPace(pace, time) } : {}),
    ...(pausedUntil > now ? { pausedUntil: time.toStore(pausedUntil) } : {}),
    ...(name === 'all' ? { contacted: key.isProven } : limitsOf(key.group(name), now, time)),
  };
}

function storedPace({ until, lastsMs, from, free }: Pace, time: StoreTime): NonNullable<LearntRate['pace']> {
  return { until: time.toStore(until), lastsMs, ...(from === Infinity ? {} : { from, free }) };
}

function limitsOf({ limits, others }: Group, now: number, time: StoreTime): LearntRate {
  const routes = limits
    .entries(now)
    .map(({ route, limit, seenAt }) => [route, { limit, seenAt: time.toStore(seenAt) }] as const);
  return {
    believed: limits.believed(now),
    limits: Object.fromEntries(routes),
    ...(others.ignoredUntil > now ? { remainingIgnoredUntil: time.toStore(others.ignoredUntil) } : {}),
  };
}

/** Takes over what earlier processes used and learnt; leaves out what has expired or makes no sense. */
export function inherit(key: Key, loaded: LoadedBudget, now: number, time: StoreTime): void {
  const { known, blocks, learnt } = loaded;
  key.accepted = known ? 1 : 0;
  if (known && blocks.length === 0 && learnt.length === 0) key.beQuiet(now);
  // A slot that was not recorded as freed counts as sent at its reservation's end, without an answer: the server cannot
  // have counted it later. Only a row from before the store's clock was put back has a moment after `latest`.
  const latest = now + BLOCK_VALID_MS + UNANSWERED_MS;
  for (const { group, size, validUntil, freed } of blocks) {
    const log = key.groups.get(group)?.log;
    for (const moment of freed) log?.inherit(Math.min(latest, time.fromStore(moment) - IN_USE_MS));
    for (let open = size - freed.length; open > 0; open -= 1) {
      log?.inherit(Math.min(latest, time.fromStore(validUntil) + UNANSWERED_MS));
    }
  }
  // Nothing is kept for longer than it is remembered, whatever happened to the store's clock.
  const until = (moment: number | undefined, memoryMs: number): number =>
    Math.min(now + memoryMs, time.fromStore(moment ?? -Infinity));
  for (const { group: name, learnt: rate } of learnt) {
    const group = name === 'all' ? undefined : key.groups.get(name);
    const paced = name === 'all' ? key : group;
    if (paced === undefined) continue;
    paced.pausedUntil = until(rate.pausedUntil, LONGEST_PAUSE_MS);
    if (rate.pace !== undefined) {
      const { from = Infinity, free = 0, lastsMs } = rate.pace;
      Object.assign(paced.pace, { from, free, lastsMs, until: until(rate.pace.until, DAY_MS) });
    }
    if (name === 'all' && rate.contacted === true) key.prove();
    if (group === undefined) continue;
    const routes = Object.entries(rate.limits ?? {}).filter(([, { limit }]) => isLimit(limit));
    for (const [route, { limit, seenAt }] of routes) group.limits.inherit(route, limit, until(seenAt, 0));
    // Older programs stored limits that they believed, and nothing else.
    group.limits.believe(rate.believed ?? Math.min(...routes.map(([, { limit }]) => limit)));
    group.others.ignoredUntil = until(rate.remainingIgnoredUntil, HOUR_MS);
  }
}

/** What the store alone shows of a key that another process uses: others' use, and what waits, it does not have. */
export function storedSnapshot(loaded: LoadedBudget, share: number): BudgetSnapshot {
  const key = new Key(share);
  inherit(key, loaded, 0, new StoreTime(loaded.now, 0));
  return key.snapshot(0, () => 0);
}

function isLimit(limit: number): boolean {
  return Number.isInteger(limit) && limit > 0;
}
