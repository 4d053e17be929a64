import { describe, expect, it } from 'vitest';
import { BurstGate } from './evidence/burst-gate.ts';
import { KeyModel } from './key-model.ts';
import { inheritLearnt, learntRow } from './learnt.ts';
import { StoreTime } from './store/store-time.ts';
import type { LearntRow, StoredGroup } from './store/store.ts';

/** Moments by the first process's clock, and by the second's, which began later and stands elsewhere. */
const NOW = 5_000;
const LATER = 100;
/** The store's clock at those moments: ten seconds have passed. */
const STORE_NOW = 1_000_000;
const STORE_LATER = STORE_NOW + 10_000;

/** What a process that starts ten seconds later knows of what this one learnt. */
function nextProcess(learn: (model: KeyModel) => void, name: StoredGroup = 'other'): KeyModel {
  const model = new KeyModel(1);
  learn(model);
  const row = learntRow(model, name, NOW, new StoreTime(STORE_NOW, NOW), 1);
  return started([JSON.parse(JSON.stringify(row)) as LearntRow]);
}

function started(rows: readonly LearntRow[]): KeyModel {
  const model = new KeyModel(1);
  inheritLearnt(model, rows, LATER, new StoreTime(STORE_LATER, LATER));
  return model;
}

describe('what was learnt', () => {
  it('is a limit over all endpoints, for the time that is left', () => {
    const next = nextProcess((model) => {
      model.overall = { limit: 40, until: NOW + 60_000 };
    }, 'all');
    expect(next.overallLimit(LATER + 49_999)).toBe(40);
    expect(next.overallLimit(LATER + 50_000)).toBeUndefined();
  });

  it('is nothing of that where there is none', () => {
    expect(nextProcess(() => {}, 'all').overall).toBeUndefined();
  });

  it.each([
    ['a pause', 'pausedUntil'],
    ['that Remaining is broken', 'remainingIgnoredUntil'],
    ['that limits above the specification’s are not believed', 'ceilingUntil'],
  ] as const)('is %s', (_, until) => {
    const next = nextProcess((model) => {
      model.group('other')[until] = NOW + 60_000;
    });
    expect(next.group('other')[until]).toBe(LATER + 50_000);
  });

  it('is the pace', () => {
    const next = nextProcess((model) => void model.group('other').pace.learn(30, NOW));
    expect(next.group('other').pace.intervalMs(LATER, 0)).toBeCloseTo(60_250 / 29);
  });

  it('is that bursts were accepted, and of how many slots', () => {
    const next = nextProcess((model) => {
      model.group('other').bursts = new BurstGate(48);
    });
    expect(next.group('other').bursts.provenSize).toBe(48);
    expect(nextProcess(() => {}).group('other').bursts.provenSize).toBe(0);
  });

  it('is that bursts of the specification’s limit were accepted, where an older program wrote no size', () => {
    const bursts = started([{ group: 'sequence', learnt: { bursts: true } }]).group('sequence').bursts;
    expect(bursts.provenSize).toBe(20);
  });

  it('is each route’s limit, and that the group accepts requests', () => {
    const next = nextProcess((model) => {
      const group = model.group('other');
      group.limits.observe('GET /v1/lists', 30, NOW);
      for (let i = 0; i < 10; i++) group.contact.accepted();
    });
    expect([next.group('other').limit(LATER), next.group('other').contact.proven]).toEqual([30, true]);
  });

  it('is nothing where nothing was', () => {
    const next = nextProcess(() => {}).group('other');
    expect([next.pausedUntil, next.ceilingUntil, next.remainingIgnoredUntil]).toEqual([
      -Infinity,
      -Infinity,
      -Infinity,
    ]);
    expect([next.contact.proven, next.pace.intervalMs(LATER, 0)]).toEqual([false, undefined]);
  });
});

describe('a row that makes no sense', () => {
  it('stops a group for a quarter of an hour at most', () => {
    const next = started([{ group: 'other', learnt: { serial: 1, pausedUntil: STORE_LATER + 86_400_000 } }]);
    expect(next.group('other').pausedUntil).toBe(LATER + 900_000);
  });

  it('teaches nothing for longer than it is remembered', () => {
    const [year, day] = [STORE_LATER + 365 * 86_400_000, 86_400_000];
    const paced = { limit: 30, guardMs: 1_000, fromAnswer: false, until: year };
    const limits = { a: { limit: 30, seenAt: year } };
    const learnt = { paced, limits, grantedOnlyUntil: year, remainingIgnoredUntil: year };
    const next = started([
      { group: 'other', learnt },
      { group: 'all', learnt: { ceiling: { limit: 40, until: year } } },
    ]);
    const group = next.group('other');
    expect([group.ceilingUntil, group.remainingIgnoredUntil, next.overall?.until]).toEqual(
      Array.from({ length: 3 }, () => LATER + day),
    );
    expect(group.pace.lesson(LATER)?.until).toBe(LATER + day);
    expect([group.limits.smallest(LATER), group.limits.smallest(LATER + 3_600_000)]).toEqual([30, undefined]);
  });

  it('sets no limit', () => {
    const limits = { a: { limit: 0, seenAt: STORE_LATER }, b: { limit: 1.5, seenAt: STORE_LATER } };
    expect(
      started([{ group: 'other', learnt: { serial: 1, limits } }])
        .group('other')
        .limit(LATER),
    ).toBe(60);
  });
});
