import { describe, expect, it } from 'vitest';
import { MemoryBudgetStore } from '../../test/support/budget/memory-budget-store.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { Budget } from './budget.ts';
import { createBudget } from './create-budget.ts';
import { NotSent } from './not-sent.ts';
import { PRIORITY } from './priorities.ts';
import type { RateGroup } from './rate-groups.ts';

class Setup {
  readonly clock = new VirtualClock();
  readonly store = new MemoryBudgetStore(this.clock);

  async budget(): Promise<Budget> {
    const loaded = await this.store.load('key');
    const { clock, store } = this;
    return createBudget({ keyHash: 'key', clock, share: 1, store, loaded, onEvent: () => {} });
  }

  /** One request of a group whose sending takes 10 ms, and then fails with `error`, or is answered. */
  async send(budget: Budget, group: RateGroup, error?: Error): Promise<void> {
    const { signal } = new AbortController();
    const request = { group, route: 'a route', priority: PRIORITY.SUBMISSION, signal };
    const answer = budget.run(request, async () => {
      await this.clock.sleep(10);
      if (error !== undefined) throw error;
      return { status: 200, headers: {}, receivedAt: this.clock.monotonic() };
    });
    await this.clock.runUntil(answer);
  }

  /** Attempts that write nothing. */
  async sendNothing(budget: Budget, group: RateGroup, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await expect(this.send(budget, group, new NotSent('refused connection'))).rejects.toThrow(NotSent);
    }
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
    for (let i = 0; i < 2; i++) await setup.send(budget, 'bulk_lists');
    expect(setup.clock.monotonic()).toBeLessThan(1_000);
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
    await setup.send(budget, 'other');
    expect(setup.clock.monotonic()).toBeLessThan(1_000);
  });

  it('that fails in any other way keeps its slot for as long as it may still arrive', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    await expect(setup.send(budget, 'bulk_lists', new Error('reset'))).rejects.toThrow('reset');
    await setup.clock.advance(89_000);
    expect(setup.group(budget, 'bulk_lists')?.used).toBe(1);
  });
});
