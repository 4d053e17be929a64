import { beforeEach, describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import type { Budget, GroupSnapshot } from './budget.ts';
import { PRIORITY } from './priorities.ts';
import { storedSnapshot } from './snapshot.ts';

let setup: BudgetSetup;
beforeEach(() => {
  setup = new BudgetSetup();
});

describe('a free slot', () => {
  it('goes to the highest priority that waits at that moment, then to the first that came', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const group = 'bulk_lists' as const;
    const waiting = [
      setup.send(budget, 'full', { group, priority: PRIORITY.FULL }),
      setup.send(budget, 'poll 1', { group, priority: PRIORITY.POLL }),
      setup.send(budget, 'poll 2', { group, priority: PRIORITY.POLL }),
    ];
    await setup.clock.advance(30_000);
    waiting.push(setup.send(budget, 'hint', { group, priority: PRIORITY.HINT }));
    await setup.clock.runUntil(Promise.all(waiting));
    expect(setup.sent.slice(2)).toEqual(['hint', 'poll 1', 'poll 2', 'full']);
  });

  it('is free a window and a guard after the answer, not after the sending', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const { freeInMs } = budget.snapshot().groups.find((each) => each.group === 'bulk_lists') ?? {};
    // Two requests one after another, 50 ms and a commit of 2 ms each.
    expect(freeInMs).toBe(60_250 - 52);
  });

  it('is kept for high priority only while there is such work, and only above a limit of 1', async () => {
    const group = 'bulk_lists' as const;
    const budget = await setup.budget();
    await setup.clock.runUntil(setup.send(budget, 'high', { group, priority: PRIORITY.SUBMISSION }));
    const low = setup.send(budget, 'low', { group });
    const beforeLow = setup.clock.monotonic();
    await setup.clock.runUntil(low);
    expect(setup.clock.monotonic() - beforeLow).toBeGreaterThan(59_000);
    await setup.clock.advance(120_000);
    const beforeBoth = setup.clock.monotonic();
    await setup.sendMany(budget, 2, { group });
    expect(setup.clock.monotonic() - beforeBoth).toBeLessThan(1_000);
    const narrow = await new BudgetSetup().acquainted('bulk_lists', 0.5);
    expect(narrow.snapshot().groups.find((each) => each.group === group)?.size).toBe(1);
  });

  it('is counted within the share, at least one', async () => {
    const budget = await setup.budget(0.8);
    expect(budget.snapshot().groups.map((each) => each.size)).toEqual([4, 8, 1, 16, 48]);
  });
});

describe('the first requests', () => {
  it('of a key that nobody ever used go one at a time until one is answered', async () => {
    const budget = await setup.budget();
    const all = Promise.all([setup.send(budget, 'a'), setup.send(budget, 'b', { group: 'sequence' })]);
    await setup.clock.runUntil(all);
    expect(setup.mostInFlight).toBe(1);
  });

  it('to a group are at most four at once until ten were accepted', async () => {
    const budget = await setup.budget();
    let left = 60;
    setup.answer = () => ({
      status: 200,
      headers: { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': String((left -= 1)) },
    });
    await setup.sendMany(budget, 10);
    expect(setup.mostInFlight).toBe(4);
    await setup.sendMany(budget, 20);
    expect(setup.mostInFlight).toBe(20);
  });

  it('of a used key without rows are one ping, and then the window is waited out', async () => {
    setup.store.known = true;
    const budget = await setup.budget();
    await setup.clock.runUntil(setup.send(budget, 'ping'));
    expect(setup.clock.monotonic()).toBeLessThan(1_000);
    await setup.clock.runUntil(setup.send(budget, 'next', { group: 'sequence' }));
    expect(setup.clock.monotonic()).toBeGreaterThan(60_000);
  });
});

describe('a 429', () => {
  it('stops its whole group for as long as Retry-After says, and no other', async () => {
    const budget = await setup.acquainted();
    setup.answer = () => ({ status: 429, headers: { 'retry-after': '90' } });
    const { status } = await setup.clock.runUntil(setup.send(budget, 'refused'));
    setup.answer = () => ({ status: 200, headers: {} });
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 1, { group: 'sequence' });
    expect(setup.clock.monotonic() - before).toBeLessThan(1_000);
    await setup.sendMany(budget, 1);
    expect(setup.clock.monotonic() - before).toBeGreaterThan(90_000);
    expect(status).toBe(429);
  });

  it('shortens no wait that an earlier one asked for', async () => {
    const budget = await setup.acquainted();
    setup.answer = () => ({
      status: 200,
      headers: { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '40' },
    });
    await setup.sendMany(budget, 1);
    setup.answer = (name) => ({ status: 429, headers: { 'retry-after': name } });
    await setup.clock.runUntil(Promise.all([setup.send(budget, '90'), setup.send(budget, '1')]));
    setup.answer = () => ({ status: 200, headers: {} });
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 1);
    expect(setup.clock.monotonic() - before).toBeGreaterThan(90_000);
  });

  it('that nothing explains paces the group, is reported, and is remembered by the next process', async () => {
    const budget = await setup.acquainted();
    setup.answer = () => ({ status: 429, headers: {} });
    await setup.clock.runUntil(setup.send(budget, 'refused'));
    expect(setup.events.map((each) => each.kind)).toEqual(['refused']);
    expect(setup.events[0]?.message).toContain('one request each 1.0 s');
    await setup.clock.advance(5);
    const next = await setup.budget();
    const other = next.snapshot().groups.find((each) => each.group === 'other');
    expect(other?.pacedMs).toBeCloseTo(60_000 / 58);
    expect(other?.pausedForMs).toBeGreaterThan(60_000);
  });

  it('that names a limit which its group alone did not reach limits the sum over all endpoints', async () => {
    const budget = await setup.budget();
    setup.answer = () => ({ status: 200, headers: { 'x-ratelimit-limit': '60' } });
    await setup.sendMany(budget, 10, { group: 'sequence' });
    await setup.sendMany(budget, 10);
    setup.answer = () => ({ status: 429, headers: { 'x-ratelimit-limit': '21', 'retry-after': '60' } });
    await setup.sendMany(budget, 1);
    expect(budget.snapshot().overallLimit).toBe(21);
  });

  it('that names a limit which its group alone has reached lowers that group, until answers name a higher one', async () => {
    const budget = await setup.budget();
    const limit = (): number | undefined =>
      budget.snapshot().groups.find(({ group }) => group === 'other')?.limit;
    setup.answer = () => ({ status: 200, headers: { 'x-ratelimit-limit': '60' } });
    await setup.sendMany(budget, 10, { group: 'sequence' });
    await setup.sendMany(budget, 20);
    setup.answer = () => ({ status: 429, headers: { 'x-ratelimit-limit': '12', 'retry-after': '60' } });
    await setup.sendMany(budget, 1);
    expect(limit()).toBe(12);
    expect(budget.snapshot().overallLimit).toBeUndefined();
    setup.answer = () => ({ status: 200, headers: { 'x-ratelimit-limit': '60' } });
    await setup.sendMany(budget, 1);
    await setup.clock.advance(60_000);
    await setup.sendMany(budget, 1);
    expect(limit()).toBe(60);
  });
});

describe('which limit counts, why, and for how long', () => {
  const DAY = 86_400_000;
  /** Of the group `other`, as its process says it, and as the store alone does. */
  const told = async (
    setup: BudgetSetup,
    budget: Budget,
  ): Promise<readonly (GroupSnapshot | undefined)[]> => {
    await setup.clock.runUntil(budget.flush());
    await setup.clock.advance(5);
    const stored = storedSnapshot(await setup.store.load('key'), 0.8);
    return [budget.snapshot(), stored].map(({ groups }) => groups.find(({ group }) => group === 'other'));
  };
  const limitIs = (limit: number, more = {}) => ({ 'x-ratelimit-limit': String(limit), ...more });

  it('is the service’s for the share of it, above the specification’s too', async () => {
    const budget = await setup.budget(0.8);
    setup.answer = () => ({ status: 200, headers: limitIs(600) });
    await setup.sendMany(budget, 10);
    const plain = { limit: 600, size: 480, why: undefined, forMs: undefined };
    expect(await told(setup, budget)).toMatchObject([plain, plain]);
  });

  it('is one over all endpoints, a pace, a lower one, or what others leave', async () => {
    const budget = await setup.budget(0.8);
    setup.answer = () => ({ status: 200, headers: limitIs(60) });
    await setup.sendMany(budget, 4, { group: 'sequence' });
    await setup.sendMany(budget, 10);
    setup.answer = () => ({ status: 429, headers: limitIs(15, { 'retry-after': '30' }) });
    await setup.sendMany(budget, 1);
    const waits = { why: 'a 429 asked to wait', size: 12 };
    expect(await told(setup, budget)).toMatchObject([waits, waits]);
    await setup.clock.advance(31_000);
    const overall = { limit: 60, size: 12, why: 'a 429 has shown a limit of 15 over all endpoints' };
    const both = await told(setup, budget);
    expect(both).toMatchObject([overall, overall]);
    for (const each of both) expect(each?.forMs).toBeGreaterThan(DAY - 60_000);

    const paced = new BudgetSetup();
    const beside = await paced.acquainted('other', 0.8);
    paced.answer = () => ({ status: 429, headers: { 'retry-after': '1' } });
    await paced.sendMany(beside, 1);
    await paced.clock.advance(2_000);
    const why = 'after a 429 that nothing explains, one request goes each 1.3 s';
    expect(await told(paced, beside)).toMatchObject([{ why }, { why }]);

    const shared = new BudgetSetup();
    const with30 = await shared.budget(0.8);
    let left = 60;
    shared.answer = () => ({
      status: 200,
      headers: limitIs(60, { 'x-ratelimit-remaining': String((left -= 4)) }),
    });
    await shared.sendMany(with30, 10);
    expect((await told(shared, with30))[0]?.why).toBe('others use 30 of 60');
    shared.answer = () => ({ status: 200, headers: limitIs(12) });
    await shared.clock.advance(66_000);
    await shared.sendMany(with30, 1);
    const lower = { limit: 12, size: 9, why: 'the service names 12 in place of 60' };
    expect(await told(shared, with30)).toMatchObject([lower, lower]);
  });
});

describe('a lifted limit', () => {
  it('is believed after first contact, and thousands of requests cost little', async () => {
    const budget = await setup.budget();
    setup.answer = () => ({
      status: 200,
      headers: { 'x-ratelimit-limit': '1000000', 'x-ratelimit-remaining': '999999' },
    });
    await setup.sendMany(budget, 10);
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 5_000);
    expect(setup.clock.monotonic() - before).toBeLessThan(1_000);
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
