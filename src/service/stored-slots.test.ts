import { beforeEach, describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import { type Budget, NotSent } from './budget.ts';
import type { RateGroup } from './rate-groups.ts';

let setup: BudgetSetup;
beforeEach(() => {
  setup = new BudgetSetup();
});

const groupOf = (budget: Budget, name: RateGroup) => budget.snapshot().groups.find(({ group }) => group === name);

/** Slots of a group that are in use as a process sees it that starts now. */
const usedByNext = async (name: RateGroup = 'other') => groupOf(await setup.budget(), name)?.used;

describe('a reservation', () => {
  it('is committed before the request is sent', async () => {
    const budget = await setup.budget();
    const reserved: number[] = [];
    const answer = setup.send(budget, 'a');
    setup.clock.after(1, () => reserved.push(setup.sent.length));
    await setup.clock.runUntil(answer);
    expect([reserved, setup.store.reservations, setup.sent]).toEqual([[0], 1, ['a']]);
  });

  it('that fails lets nothing be sent, and every waiting task knows why', async () => {
    const budget = await setup.budget();
    setup.store.failure = new Error('lease lost');
    const both = Promise.allSettled([setup.send(budget, 'a'), setup.send(budget, 'b')]);
    const outcomes = await setup.clock.runUntil(both);
    expect(outcomes.map((each) => each.status)).toEqual(['rejected', 'rejected']);
    expect(setup.sent).toEqual([]);
    setup.store.failure = undefined;
    await setup.clock.runUntil(setup.send(budget, 'c'));
    expect(setup.sent).toEqual(['c']);
  });

  it('of a block that was not used up costs nothing after a clean stop', async () => {
    const budget = await setup.acquainted();
    budget.close(new Error('stopped'));
    await setup.clock.runUntil(budget.flush());
    expect(await usedByNext()).toBe(2);
  });

  it('that is being committed at a clean stop is given back, too', async () => {
    const budget = await setup.acquainted();
    await setup.clock.advance(10_001);
    const stop = new AbortController();
    const waits = setup.send(budget, 'late', { signal: stop.signal });
    stop.abort(new Error('stopped'));
    await expect(waits).rejects.toThrow('stopped');
    budget.close(new Error('stopped'));
    await setup.clock.runUntil(budget.flush());
    await setup.clock.runUntilIdle();
    expect(await usedByNext()).toBe(2);
  });

  it('of a killed process counts until its last request must have left the window', async () => {
    await setup.acquainted();
    expect(await usedByNext()).toBe(4);
    // 10 s of validity, 30 s on the way, 60 s of window.
    await setup.clock.advance(99_000);
    expect(await usedByNext()).toBe(4);
    await setup.clock.advance(2_000);
    expect(await usedByNext()).toBe(0);
  });

  it('is held for its window although the wall clock jumps under a running budget, and is read right after a kill', async () => {
    const budget = await setup.acquainted('bulk_lists');
    setup.clock.jumpWall(86_400_000);
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 1, { group: 'bulk_lists' });
    expect(setup.clock.monotonic() - before).toBeGreaterThan(60_000);
    await setup.clock.runUntil(budget.flush());
    expect(await usedByNext('bulk_lists')).toBe(1);
    await setup.clock.advance(60_000);
    expect(await usedByNext('bulk_lists')).toBe(1);
    await setup.clock.advance(1_000);
    expect(await usedByNext('bulk_lists')).toBe(0);
  });
});

describe('freed slots', () => {
  it('ride in a page once, and again when its transaction, or a flush, failed', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const freed = budget.takeFreed();
    expect(freed?.blocks.flatMap((block) => block.freed)).toHaveLength(1);
    expect(budget.takeFreed()).toBeUndefined();
    if (freed !== undefined) budget.putBack(freed);
    setup.store.failure = new Error('database is away');
    await expect(setup.clock.runUntil(budget.flush())).rejects.toThrow('away');
    expect(budget.takeFreed()).toEqual(freed);
  });
});

/** Attempts that fail so: by default nothing of them is written. */
async function sendInVain(budget: Budget, group: RateGroup, count: number, error: Error = new NotSent('refused')) {
  const { answer } = setup;
  setup.answer = () => {
    throw error;
  };
  for (let i = 0; i < count; i++) {
    await expect(setup.clock.runUntil(setup.send(budget, '', { group }))).rejects.toBe(error);
  }
  setup.answer = answer;
}

describe('a request of which nothing was written', () => {
  it('gives its slot back at once, to the next that waits, and costs the next process nothing', async () => {
    const budget = await setup.budget();
    await sendInVain(budget, 'bulk_lists', 20);
    expect(groupOf(budget, 'bulk_lists')).toMatchObject({ used: 0, sent: 0 });
    await setup.clock.runUntil(budget.flush());
    expect(await usedByNext('bulk_lists')).toBe(0);
    await setup.sendMany(budget, 2, { group: 'bulk_lists' });
    expect(setup.clock.monotonic()).toBeLessThan(2_000);
  });

  it('takes no new reservation where the block that it came from is still in use', async () => {
    await sendInVain(await setup.budget(), 'other', 20);
    expect(setup.store.reservations).toBe(1);
  });

  it('is no ping either: a used key without rows may ask again at once', async () => {
    setup.store.known = true;
    const budget = await setup.budget();
    await sendInVain(budget, 'other', 1);
    await setup.sendMany(budget, 1);
    expect(setup.clock.monotonic()).toBeLessThan(1_000);
  });

  it('that fails in any other way keeps its slot for as long as it may still arrive', async () => {
    const budget = await setup.budget();
    await sendInVain(budget, 'bulk_lists', 1, new Error('reset'));
    await setup.clock.advance(89_000);
    expect(groupOf(budget, 'bulk_lists')?.used).toBe(1);
  });
});
