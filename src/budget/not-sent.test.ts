import { describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import type { Budget } from './budget.ts';
import { NotSent } from './not-sent.ts';
import type { RateGroup } from './rate-groups.ts';

class Setup extends BudgetSetup {
  /** Attempts that fail: what they throw is thrown. */
  async sendInVain(budget: Budget, group: RateGroup, count: number, error: Error): Promise<void> {
    const { answer } = this;
    this.answer = () => {
      throw error;
    };
    for (let i = 0; i < count; i++) {
      await expect(this.clock.runUntil(this.send(budget, '', { group }))).rejects.toBe(error);
    }
    this.answer = answer;
  }

  /** Attempts that write nothing. */
  sendNothing(budget: Budget, group: RateGroup, count: number): Promise<void> {
    return this.sendInVain(budget, group, count, new NotSent('refused connection'));
  }

  group(budget: Budget, name: RateGroup) {
    return budget.snapshot().groups.find((each) => each.group === name);
  }
}

describe('a request of which nothing was written', () => {
  it('gives its slot back at once, to the next that waits', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    await setup.sendNothing(budget, 'bulk_lists', 20);
    expect(setup.group(budget, 'bulk_lists')).toMatchObject({ used: 0, sent: 0 });
    await setup.sendMany(budget, 2, { group: 'bulk_lists' });
    expect(setup.clock.monotonic()).toBeLessThan(2_000);
  });

  it('costs the next process nothing either, once that is stored', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    await setup.sendNothing(budget, 'bulk_lists', 3);
    await setup.clock.runUntil(budget.flush());
    expect(setup.group(await setup.budget(), 'bulk_lists')?.used).toBe(0);
  });

  it('takes no new reservation where the block that it came from is still in use', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    await setup.sendNothing(budget, 'other', 20);
    expect(setup.store.reservations).toBe(1);
  });

  it('is no ping either: a used key without rows may ask again at once', async () => {
    const setup = new Setup();
    setup.store.known = true;
    const budget = await setup.budget();
    await setup.sendNothing(budget, 'other', 1);
    await setup.sendMany(budget, 1);
    expect(setup.clock.monotonic()).toBeLessThan(1_000);
  });

  it('that fails in any other way keeps its slot for as long as it may still arrive', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    await setup.sendInVain(budget, 'bulk_lists', 1, new Error('reset'));
    await setup.clock.advance(89_000);
    expect(setup.group(budget, 'bulk_lists')?.used).toBe(1);
  });
});
