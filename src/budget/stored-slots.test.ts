import { beforeEach, describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import type { Budget } from './budget.ts';

const DAY_MS = 86_400_000;

let setup: BudgetSetup;
beforeEach(() => {
  setup = new BudgetSetup();
});

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
    const next = await setup.budget();
    expect(next.snapshot().groups.find((each) => each.group === 'other')?.used).toBe(2);
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
    const next = await setup.budget();
    expect(next.snapshot().groups.find((each) => each.group === 'other')?.used).toBe(2);
  });

  it('of a killed process counts until its last request must have left the window', async () => {
    await setup.acquainted();
    const used = (budget: Budget): number | undefined =>
      budget.snapshot().groups.find((each) => each.group === 'other')?.used;
    expect(used(await setup.budget())).toBe(5);
    // 10 s of validity, 30 s on the way, 60 s of window.
    await setup.clock.advance(99_000);
    expect(used(await setup.budget())).toBe(5);
    await setup.clock.advance(2_000);
    expect(used(await setup.budget())).toBe(0);
  });

  it('is held for its window although the wall clock jumps under a running budget, and is read right after a kill', async () => {
    const budget = await setup.acquainted('bulk_lists');
    setup.clock.jumpWall(DAY_MS);
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 1, { group: 'bulk_lists' });
    expect(setup.clock.monotonic() - before).toBeGreaterThan(60_000);
    await setup.clock.runUntil(budget.flush());
    const used = (next: Budget): number | undefined =>
      next.snapshot().groups.find((each) => each.group === 'bulk_lists')?.used;
    expect(used(await setup.budget())).toBe(1);
    await setup.clock.advance(60_000);
    expect(used(await setup.budget())).toBe(1);
    await setup.clock.advance(1_000);
    expect(used(await setup.budget())).toBe(0);
  });
});

describe('freed slots', () => {
  it('ride in a page once, and again when its transaction failed', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const freed = budget.takeFreed();
    expect(freed?.blocks.flatMap((block) => block.freed)).toHaveLength(1);
    expect(budget.takeFreed()).toBeUndefined();
    if (freed !== undefined) budget.putBack(freed);
    expect(budget.takeFreed()).toEqual(freed);
  });

  it('are kept when a flush fails', async () => {
    const budget = await setup.acquainted('bulk_lists');
    setup.store.failure = new Error('database is away');
    await expect(setup.clock.runUntil(budget.flush())).rejects.toThrow('away');
    expect(budget.takeFreed()).toBeDefined();
  });
});
