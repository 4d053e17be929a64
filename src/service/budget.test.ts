import { beforeEach, describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import type { Budget } from './budget.ts';
import type { BudgetSnapshot } from './key-budget.ts';
import { PRIORITY, type RateGroup } from './rate-groups.ts';
import { storedSnapshot } from './slot-store.ts';

let setup: BudgetSetup;
beforeEach(() => {
  setup = new BudgetSetup();
});

const groupOf = (budget: Budget, name: RateGroup = 'other'): BudgetSnapshot['groups'][number] | undefined =>
  budget.snapshot().groups.find(({ group }) => group === name);

/** From now on the service answers so: with these values of its headers, where they are given. */
function answers(
  status: number,
  headers: { limit?: number; left?: () => number; retry?: number } = {},
): void {
  const { limit, left, retry } = headers;
  setup.answer = () => ({
    status,
    headers: {
      ...(limit === undefined ? {} : { 'x-ratelimit-limit': String(limit) }),
      ...(left === undefined ? {} : { 'x-ratelimit-remaining': String(left()) }),
      ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
    },
  });
}

/** How long (ms) so many requests take. */
async function took(budget: Budget, count: number, group: RateGroup = 'other'): Promise<number> {
  const before = setup.clock.monotonic();
  await setup.sendMany(budget, count, { group });
  return setup.clock.monotonic() - before;
}

describe('a free slot', () => {
  it('goes to the highest priority that waits at that moment, then to the first that came', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const wait = (name: string, priority: (typeof PRIORITY)['POLL' | 'FULL' | 'HINT']) =>
      setup.send(budget, name, { group: 'bulk_lists', priority });
    const waiting = [
      wait('full', PRIORITY.FULL),
      wait('poll 1', PRIORITY.POLL),
      wait('poll 2', PRIORITY.POLL),
    ];
    await setup.clock.advance(30_000);
    await setup.clock.runUntil(Promise.all([...waiting, wait('hint', PRIORITY.HINT)]));
    expect(setup.sent.slice(2)).toEqual(['hint', 'poll 1', 'poll 2', 'full']);
  });

  it('is free a window and a guard after the answer, not after the sending', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 1, { group: 'bulk_lists' });
    // Two requests went one after another, 50 ms and a commit of 2 ms each.
    expect(setup.clock.monotonic() - before).toBe(60_250 - 52 + 52);
  });

  it('is kept for high priority only while there is such work, and only above a limit of 1', async () => {
    const group = 'bulk_lists';
    const budget = await setup.budget();
    await setup.clock.runUntil(setup.send(budget, 'high', { group, priority: PRIORITY.SUBMISSION }));
    expect(await took(budget, 1, group)).toBeGreaterThan(59_000);
    await setup.clock.advance(120_000);
    expect(await took(budget, 2, group)).toBeLessThan(1_000);
    expect(groupOf(await new BudgetSetup().acquainted(group, 0.5), group)?.size).toBe(1);
  });

  it('is counted within the share, at least one', async () => {
    const budget = await setup.budget(0.8);
    expect(budget.snapshot().groups.map((each) => each.size)).toEqual([4, 8, 1, 16, 48]);
  });
});

describe('the first requests', () => {
  it('of a key that was never used go one at a time until one is answered', async () => {
    const budget = await setup.budget();
    const all = Promise.all([setup.send(budget, 'a'), setup.send(budget, 'b', { group: 'sequence' })]);
    await setup.clock.runUntil(all);
    expect(setup.mostInFlight).toBe(1);
  });

  it('are at most four at once until ten were accepted, over all groups, and then spaced ones more', async () => {
    const budget = await setup.budget();
    setup.answersAfterMs = 10_000;
    await Promise.all([setup.sendMany(budget, 5), setup.sendMany(budget, 5, { group: 'sequence' })]);
    expect(setup.mostInFlight).toBe(4);
    await setup.sendMany(budget, 20);
    expect(setup.mostInFlight).toBeGreaterThan(6);
  });

  it('of a used key without rows are one ping, and then the window is waited out', async () => {
    setup.store.known = true;
    const budget = await setup.budget();
    expect(await took(budget, 1)).toBeLessThan(1_000);
    expect(await took(budget, 1, 'sequence')).toBeGreaterThan(59_000);
  });
});

describe('a 429', () => {
  it('stops its whole group for as long as Retry-After says, and no other', async () => {
    const budget = await setup.acquainted();
    answers(429, { retry: 90 });
    const { status } = await setup.clock.runUntil(setup.send(budget, 'refused'));
    answers(200);
    const other = await took(budget, 1, 'sequence');
    expect([status, other < 1_000]).toEqual([429, true]);
    expect(other + (await took(budget, 1))).toBeGreaterThan(90_000);
  });

  it('shortens no wait that an earlier one asked for', async () => {
    const budget = await setup.acquainted();
    answers(200, { limit: 60 });
    await setup.sendMany(budget, 1);
    setup.answer = (name) => ({ status: 429, headers: { 'retry-after': name } });
    await setup.clock.runUntil(Promise.all([setup.send(budget, '90'), setup.send(budget, '1')]));
    answers(200);
    expect(await took(budget, 1)).toBeGreaterThan(90_000);
  });

  it('that nothing explains paces the group, is reported, and is remembered by the next process', async () => {
    const budget = await setup.acquainted();
    answers(429);
    await setup.sendMany(budget, 1);
    expect(setup.events).toMatchObject([
      { kind: 'refused', message: expect.stringContaining('one request each 1.0 s') },
    ]);
    await setup.clock.advance(5);
    const next = await setup.budget();
    expect(groupOf(next)).toMatchObject({ size: 58, why: 'a 429 asked to wait' });
    expect(groupOf(next)?.forMs).toBeGreaterThan(60_000);
    answers(200);
    const before = setup.clock.monotonic();
    await setup.sendMany(next, 20);
    expect(setup.clock.monotonic() - before).toBeGreaterThan(60_000 + (19 * 60_000) / 58);
  });

  it('in two groups that keep within their limits gives all of them one pace for a day', async () => {
    const budget = await setup.budget();
    answers(200);
    await setup.sendMany(budget, 10);
    answers(429, { retry: 1 });
    await setup.sendMany(budget, 1);
    await setup.sendMany(budget, 1, { group: 'sequence' });
    answers(200);
    expect(budget.snapshot().groups.map(({ size }) => size)).toEqual([5, 10, 2, 20, 58]);
    expect(groupOf(budget)).toMatchObject({ why: 'a 429 asked to wait' });
    await setup.clock.advance(120_000);
    const before = setup.clock.monotonic();
    await Promise.all([setup.sendMany(budget, 10, { group: 'sequence' }), setup.sendMany(budget, 10)]);
    expect(setup.clock.monotonic() - before).toBeGreaterThan((19 * 60_000) / 58);
    expect(groupOf(budget)?.forMs).toBeGreaterThan(86_400_000 - 300_000);
  });

  it('that names a lower limit is believed at once, and is raised after ten answers that name a higher one', async () => {
    const budget = await setup.budget();
    answers(200, { limit: 60 });
    await setup.sendMany(budget, 20);
    answers(429, { limit: 12, retry: 60 });
    await setup.sendMany(budget, 1);
    expect(groupOf(budget)?.limit).toBe(12);
    answers(200, { limit: 60 });
    await setup.sendMany(budget, 9);
    expect(groupOf(budget)?.limit).toBe(12);
    await setup.sendMany(budget, 1);
    expect(groupOf(budget)?.limit).toBe(60);
  });
});

describe('which limit counts, why, and for how long', () => {
  /** Of the group `other`, as its process says it, and as the store alone does. */
  const told = async (budget: Budget): Promise<readonly (BudgetSnapshot['groups'][number] | undefined)[]> => {
    await setup.clock.runUntil(budget.flush());
    await setup.clock.advance(5);
    const stored = storedSnapshot(await setup.store.load('key'), 0.8);
    return [groupOf(budget), stored.groups.find(({ group }) => group === 'other')];
  };

  it('is the service’s for the share of it, above the specification’s too', async () => {
    const budget = await setup.budget(0.8);
    answers(200, { limit: 600 });
    await setup.sendMany(budget, 10);
    const plain = { limit: 600, size: 480, why: undefined, forMs: undefined };
    expect(await told(budget)).toMatchObject([plain, plain]);
  });

  it('is one over all endpoints', async () => {
    const budget = await setup.budget(0.8);
    await setup.sendMany(budget, 10);
    answers(429, { retry: 30 });
    await setup.sendMany(budget, 1);
    await setup.sendMany(budget, 1, { group: 'sequence' });
    const waits = { why: 'a 429 asked to wait', size: 46 };
    expect(await told(budget)).toMatchObject([waits, waits]);
    await setup.clock.advance(31_000);
    const why = '429s in two groups have shown a limit over all endpoints: together they send 46 a minute';
    const both = await told(budget);
    expect(both).toMatchObject([
      { limit: 60, size: 46, why },
      { limit: 60, size: 46, why },
    ]);
    for (const each of both) expect(each?.forMs).toBeGreaterThan(86_400_000 - 60_000);
  });

  it('is a pace', async () => {
    const budget = await setup.acquainted('other', 0.8);
    answers(429, { retry: 1 });
    await setup.sendMany(budget, 1);
    await setup.clock.advance(6_000);
    const why = 'after a 429, one request goes each 1.3 s';
    expect(await told(budget)).toMatchObject([{ why }, { why }]);
  });

  it('is what others leave, or a lower one', async () => {
    const budget = await setup.budget(0.8);
    let left = 60;
    answers(200, { limit: 60, left: () => (left -= 4) });
    await setup.sendMany(budget, 10);
    expect((await told(budget))[0]?.why).toBe('others use 30 of 60');
    answers(200, { limit: 12 });
    await setup.clock.advance(66_000);
    await setup.sendMany(budget, 1);
    const lower = { limit: 12, size: 9, why: 'the service names 12 in place of 60' };
    expect(await told(budget)).toMatchObject([lower, lower]);
  });
});

describe('a lifted limit', () => {
  it('is believed after first contact, and thousands of requests cost little', async () => {
    const budget = await setup.budget();
    answers(200, { limit: 1_000_000, left: () => 999_999 });
    await setup.sendMany(budget, 10);
    expect(await took(budget, 5_000)).toBeLessThan(1_000);
    expect(setup.store.reservations).toBeLessThan(100);
  });
});

describe('a closed budget', () => {
  it('rejects what waits and what comes, and leaves no timer', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const waiting = setup.send(budget, 'a', { group: 'bulk_lists' });
    await setup.clock.advance(10);
    budget.close(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(setup.send(budget, 'b')).rejects.toThrow('stopped');
    const before = setup.clock.monotonic();
    await setup.clock.runUntilIdle();
    expect(setup.clock.monotonic()).toBe(before);
  });
});
