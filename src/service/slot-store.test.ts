import { describe, expect, it } from 'vitest';
import { KeyBudget } from './key-budget.ts';
import type { StoredGroup } from './rate-groups.ts';
import { IN_USE_MS } from './slots.ts';
import { inherit, learntRate, type LearntRow, type LoadedBlock, StoreTime } from './slot-store.ts';

/** Moments by the first process's clock, and by the second's, which began later and stands elsewhere. */
const NOW = 5_000;
const LATER = 100;
/** The store's clock at those moments: ten seconds have passed. */
const STORE_NOW = 1_000_000;
const STORE_LATER = STORE_NOW + 10_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What a process that starts ten seconds later knows of what this one learnt. */
function nextProcess(learn: (key: KeyBudget) => void, name: StoredGroup = 'other'): KeyBudget {
  const key = new KeyBudget(1);
  learn(key);
  const learnt = learntRate(key, name, NOW, new StoreTime(STORE_NOW, NOW));
  return started([JSON.parse(JSON.stringify({ group: name, learnt })) as LearntRow]);
}

function started(learnt: readonly LearntRow[], blocks: readonly LoadedBlock[] = []): KeyBudget {
  const key = new KeyBudget(1);
  const loaded = { now: STORE_LATER, known: true, blocks, learnt };
  inherit(key, loaded, LATER, new StoreTime(STORE_LATER, LATER));
  return key;
}

describe('what was learnt', () => {
  it('is a pace of a group, and of all of them, for the time that is left', () => {
    const group = nextProcess((key) => key.groups.other.pace.learn(60, NOW)).groups.other;
    const all = nextProcess((key) => key.pace.learn(60, NOW, DAY), 'all');
    expect([group.pace.limit, all.pace.limit]).toEqual([58, 58]);
    expect([group.pace.until, all.pace.until]).toEqual([LATER + HOUR - 10_000, LATER + DAY - 10_000]);
  });

  it('is a pace that ended: the next one lasts twice as long', () => {
    const { pace } = nextProcess((key) => key.groups.other.pace.learn(60, NOW - 2 * HOUR)).groups.other;
    expect(pace.isOn(LATER)).toBe(false);
    pace.learn(60, LATER);
    expect([pace.until, pace.limit]).toEqual([LATER + 2 * HOUR, 58]);
  });

  it('is a pace that something explains: no rate', () => {
    const { pace } = nextProcess((key) => key.groups.other.pace.learn(undefined, NOW)).groups.other;
    expect([pace.isOn(LATER), pace.limit]).toEqual([true, Infinity]);
  });

  it('is a pause, and that Remaining is ignored', () => {
    const next = nextProcess((key) => {
      key.groups.other.pausedUntil = NOW + 60_000;
      key.groups.other.others.ignoredUntil = NOW + 60_000;
    }).groups.other;
    expect([next.pausedUntil, next.others.ignoredUntil]).toEqual([LATER + 50_000, LATER + 50_000]);
  });

  it('is each route’s limit, and which one is believed', () => {
    const next = nextProcess((key) => {
      for (let answers = 0; answers < 10; answers++) key.groups.other.limits.observe('GET /v1/lists', 600, NOW, true);
      key.groups.other.limits.observe('GET /v1/ping', 700, NOW, true);
    }).groups.other;
    expect([next.limits.believed(LATER), next.limits.named(LATER)]).toEqual([600, 600]);
    expect(next.limits.entries(LATER)).toHaveLength(2);
  });

  it('is that the key accepts requests', () => {
    expect(nextProcess((key) => void (key.accepted = 60), 'all').accepted).toBe(60);
    expect(nextProcess(() => {}, 'all').accepted).toBe(1);
  });

  it('is the limits alone of a row of 0.2.0', () => {
    const limits = { a: { limit: 30, seenAt: STORE_LATER } };
    const learnt = {
      serial: 1,
      contacted: true,
      bursts: 60,
      limits,
      paced: { limit: 20, until: STORE_LATER + DAY },
    };
    const group = started([{ group: 'other', learnt }]).groups.other;
    expect([group.limit(LATER), group.pace.isOn(LATER)]).toEqual([30, false]);
  });
});

describe('a row that makes no sense', () => {
  it('stops a group for a quarter of an hour at most', () => {
    const next = started([{ group: 'other', learnt: { serial: 1, pausedUntil: STORE_LATER + DAY } }]);
    expect(next.groups.other.pausedUntil).toBe(LATER + 900_000);
  });

  it('teaches nothing for longer than it is remembered', () => {
    const year = STORE_LATER + 365 * DAY;
    const pace = { from: 30, free: 1, lastsMs: DAY, until: year };
    const learnt = { pace, limits: { a: { limit: 30, seenAt: year } }, remainingIgnoredUntil: year };
    const next = started([{ group: 'other', learnt }]).groups.other;
    expect([next.pace.until, next.others.ignoredUntil]).toEqual([LATER + DAY, LATER + HOUR]);
    expect([next.limits.named(LATER), next.limits.named(LATER + HOUR)]).toEqual([30, 60]);
  });

  it('sets no limit', () => {
    const limits = { a: { limit: 0, seenAt: STORE_LATER }, b: { limit: 1.5, seenAt: STORE_LATER } };
    expect(started([{ group: 'other', learnt: { serial: 1, limits } }]).groups.other.limit(LATER)).toBe(60);
  });
});

const LONGEST = 10_000 + 30_000 + IN_USE_MS;

/** Moments of a row count from the store's now. `usedFor`: how long (ms) each slot is in use, the last one first. */
it.each<[string, { validUntil?: number; freed?: number[]; size?: number }, usedFor: number[]]>([
  // Without an answer, when its reservation ended.
  ['of which nothing was recorded counts as sent', { validUntil: 4_000 }, [4_000 + 30_000 + IN_USE_MS]],
  ['of which nothing was recorded counts from its end', { validUntil: -40_000 }, [30_000 - 40_000 + IN_USE_MS]],
  ['of which nothing was recorded is over some day', { validUntil: -300_000 }, []],
  ['that was recorded comes free when it says', { freed: [7_000] }, [7_000]],
  ['that was recorded may be free by now', { freed: [-1] }, []],
  [
    'is one of as many as its block has',
    { size: 4, freed: [1_000], validUntil: -50_000 },
    [40_250, 40_250, 40_250, 1_000],
  ],
  ['stays in use as long as an honest row can say', { validUntil: 10_000 }, [LONGEST]],
  ['stays in use no longer, though the store’s clock was put back', { validUntil: DAY }, [LONGEST]],
  ['stays in use no longer, though it was recorded so', { freed: [DAY] }, [LONGEST]],
])('a slot of an earlier process %s', (_, { validUntil = 0, freed = [], size = 1 }, usedFor) => {
  const block: LoadedBlock = {
    group: 'other',
    blockId: 1,
    size,
    validUntil: STORE_LATER + validUntil,
    freed: freed.map((at) => STORE_LATER + at),
  };
  const { log } = started([], [block]).groups.other;
  const until: number[] = [];
  let used = log.used(LATER);
  for (let ms = 0; used > 0; ms += 50) {
    const left = log.used(LATER + ms);
    for (; used > left; used -= 1) until.unshift(ms);
  }
  expect(until).toEqual(usedFor);
});
