import { beforeEach, describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import { type Budget, NotSent } from './budget.ts';
import type { RateGroup } from './rate-groups.ts';

let setup: BudgetSetup;
beforeEach(() => {
  setup = new BudgetSetup();
});

/** Attempts that fail so: by default nothing of them is written. */
async function sendInVain(
  budget: Budget,
  group: RateGroup,
  count: number,
  error: Error = new NotSent('refused'),
) {
  const { answer } = setup;
  setup.answer = () => {
    throw error;
  };
  for (let i = 0; i < count; i++) {
    await expect(setup.clock.runUntil(setup.send(budget, '', { group }))).rejects.toBe(error);
  }
  setup.answer = answer;
}

const bulkLists = (budget: Budget) => budget.snapshot().groups.find(({ group }) => group === 'bulk_lists');

describe('a request of which nothing was written', () => {
  it('gives its slot back at once, to the next that waits, and costs the next process nothing', async () => {
    const budget = await setup.budget();
    await sendInVain(budget, 'bulk_lists', 20);
    expect(bulkLists(budget)).toMatchObject({ used: 0, sent: 0 });
    await setup.clock.runUntil(budget.flush());
    expect(bulkLists(await setup.budget())?.used).toBe(0);
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
    expect(bulkLists(budget)?.used).toBe(1);
  });
});
