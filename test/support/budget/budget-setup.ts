import type { AnswerHeaders } from '../../../src/service/rate-headers.ts';
import { type AnswerMeta, Budget, type BudgetRequest } from '../../../src/service/budget.ts';
import type { BudgetEvent } from '../../../src/service/key-budget.ts';
import { PRIORITY } from '../../../src/service/rate-groups.ts';
import { MemoryBudgetStore } from './memory-budget-store.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

/** A budget over a store in memory, and a service that answers after 50 ms where nothing else is said. */
export class BudgetSetup {
  readonly clock = new VirtualClock();
  readonly store = new MemoryBudgetStore(this.clock);
  readonly events: BudgetEvent[] = [];
  /** Names of requests in the order in which they were sent, and the most that were under way at once. */
  readonly sent: string[] = [];
  mostInFlight = 0;
  answersAfterMs = 50;
  #inFlight = 0;
  answer: (name: string) => { status: number; headers: AnswerHeaders } = () => ({ status: 200, headers: {} });

  async budget(share: number = 1): Promise<Budget> {
    const loaded = await this.store.load('key');
    const onEvent = (event: BudgetEvent): void => void this.events.push(event);
    return new Budget({ keyHash: 'key', clock: this.clock, share, store: this.store, loaded, onEvent });
  }

  /** A budget that has had its first answers from the group. */
  async acquainted(group: BudgetRequest['group'] = 'other', share: number = 1): Promise<Budget> {
    const budget = await this.budget(share);
    for (let i = 0; i < 2; i++) await this.clock.runUntil(this.send(budget, 'hello', { group }));
    return budget;
  }

  async send(
    budget: Budget,
    name: string,
    request: Partial<BudgetRequest> = {},
  ): Promise<AnswerMeta & { name: string }> {
    const signal = new AbortController().signal;
    return await budget.run(
      { group: 'other', route: '/v1/lists', priority: PRIORITY.POLL, signal, ...request },
      async () => {
        this.sent.push(name);
        this.#inFlight += 1;
        this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
        await this.clock.sleep(this.answersAfterMs);
        this.#inFlight -= 1;
        return { ...this.answer(name), receivedAt: this.clock.monotonic(), name };
      },
    );
  }

  async sendMany(budget: Budget, count: number, request: Partial<BudgetRequest> = {}): Promise<void> {
    const all = Array.from({ length: count }, () => this.send(budget, '', request));
    await this.clock.runUntil(Promise.all(all));
  }
}
