import { describe, expect, it } from 'vitest';
import { MemoryBudgetStore } from '../../test/support/memory-budget-store.ts';
import { VirtualClock } from '../../test/support/virtual-clock.ts';
import type { Answer, AnswerHeaders, Budget, BudgetEvent, BudgetRequest } from './budget.ts';
import { createBudget } from './create-budget.ts';
import { PRIORITY } from './priorities.ts';

const DAY_MS = 86_400_000;

/** A budget over a store in memory, and a service that answers after 50 ms. */
class Setup {
  readonly clock = new VirtualClock();
  readonly store = new MemoryBudgetStore(this.clock);
  readonly events: BudgetEvent[] = [];
  /** Names of requests in the order in which they were sent, and the most that were under way at once. */
  readonly sent: string[] = [];
  mostInFlight = 0;
  #inFlight = 0;
  answer: (name: string) => { status: number; headers: AnswerHeaders } = () => ({ status: 200, headers: {} });

  async budget(share: number = 1): Promise<Budget> {
    const loaded = await this.store.load('key');
    const onEvent = (event: BudgetEvent): void => void this.events.push(event);
    return createBudget({ keyHash: 'key', clock: this.clock, share, store: this.store, loaded, onEvent });
  }

  /** A budget that has had its first answers from the group. */
  async acquainted(group: BudgetRequest['group'] = 'other', share: number = 1): Promise<Budget> {
    const budget = await this.budget(share);
    for (let i = 0; i < 2; i++) await this.clock.runUntil(this.send(budget, 'hello', { group }));
    return budget;
  }

  async send(budget: Budget, name: string, request: Partial<BudgetRequest> = {}): Promise<Answer<string>> {
    const signal = new AbortController().signal;
    return await budget.run(
      { group: 'other', route: '/v1/lists', priority: PRIORITY.POLL, signal, ...request },
      async () => {
        this.sent.push(name);
        this.#inFlight += 1;
        this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
        await this.clock.sleep(50);
        this.#inFlight -= 1;
        return { ...this.answer(name), receivedAt: this.clock.monotonic(), value: name };
      },
    );
  }

  async sendMany(budget: Budget, count: number, request: Partial<BudgetRequest> = {}): Promise<void> {
    const all = Array.from({ length: count }, () => this.send(budget, '', request));
    await this.clock.runUntil(Promise.all(all), DAY_MS);
  }
}

describe('a free slot', () => {
  it('goes to the highest priority that waits at that moment, then to the first that came', async () => {
    const setup = new Setup();
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
    const setup = new Setup();
    const budget = await setup.acquainted('bulk_lists');
    const { freeInMs } = budget.snapshot().groups.find((each) => each.group === 'bulk_lists') ?? {};
    // Two requests one after another, 50 ms and a commit of 2 ms each.
    expect(freeInMs).toBe(60_250 - 52);
  });

  it('is left by a task that stops waiting', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted('bulk_lists');
    const group = 'bulk_lists' as const;
    const stop = new AbortController();
    const gone = setup.send(budget, 'gone', { group, signal: stop.signal, priority: PRIORITY.HINT });
    const stays = setup.send(budget, 'stays', { group });
    setup.clock.after(1_000, () => {
      stop.abort(new Error('no longer needed'));
    });
    await expect(setup.clock.runUntil(gone)).rejects.toThrow('no longer needed');
    expect(setup.clock.monotonic()).toBeLessThan(2_000);
    await setup.clock.runUntil(stays);
    expect(setup.sent).toEqual(['hello', 'hello', 'stays']);
  });

  it('is kept for high priority only while there is such work, and only above a limit of 1', async () => {
    const setup = new Setup();
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
    const narrow = await new Setup().acquainted('bulk_lists', 0.5);
    expect(narrow.snapshot().groups.find((each) => each.group === group)?.size).toBe(1);
  });

  it('is counted within the share, at least one', async () => {
    const setup = new Setup();
    const budget = await setup.budget(0.8);
    expect(budget.snapshot().groups.map((each) => each.size)).toEqual([4, 8, 1, 16, 48]);
  });
});

describe('a reservation', () => {
  it('is committed before the request is sent', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    const reserved: number[] = [];
    const answer = setup.send(budget, 'a');
    setup.clock.after(1, () => reserved.push(setup.sent.length));
    await setup.clock.runUntil(answer);
    expect([reserved, setup.store.reservations, setup.sent]).toEqual([[0], 1, ['a']]);
  });

  it('that fails lets nothing be sent, and every waiting task knows why', async () => {
    const setup = new Setup();
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

  it('is not used after ten seconds', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted();
    expect(setup.store.reservations).toBe(1);
    await setup.clock.advance(10_001);
    await setup.clock.runUntil(setup.send(budget, 'later'));
    expect(setup.store.reservations).toBe(2);
  });

  it('of a block that was not used up costs nothing after a clean stop', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted();
    budget.close(new Error('stopped'));
    await setup.clock.runUntil(budget.flush());
    const next = await setup.budget();
    expect(next.snapshot().groups.find((each) => each.group === 'other')?.used).toBe(2);
  });

  it('of a killed process counts until its last request must have left the window', async () => {
    const setup = new Setup();
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

  it('is held no longer than it could be, when the store’s clock is put back', async () => {
    const setup = new Setup();
    await setup.acquainted();
    setup.clock.jumpWall(-DAY_MS);
    const budget = await setup.budget();
    await setup.clock.advance(101_000);
    expect(budget.snapshot().groups.find((each) => each.group === 'other')?.used).toBe(0);
  });

  it('of a killed process is read right although the wall clock jumped under it', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted('bulk_lists');
    setup.clock.jumpWall(DAY_MS);
    await setup.sendMany(budget, 1, { group: 'bulk_lists' });
    await setup.clock.runUntil(budget.flush());
    const used = (next: Budget): number | undefined =>
      next.snapshot().groups.find((each) => each.group === 'bulk_lists')?.used;
    expect(used(await setup.budget())).toBe(1);
    await setup.clock.advance(60_000);
    expect(used(await setup.budget())).toBe(1);
    await setup.clock.advance(1_000);
    expect(used(await setup.budget())).toBe(0);
  });

  it('goes to the owner’s store once the owner is known, with what the first ping taught', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    setup.answer = () => ({ status: 200, headers: { 'x-ratelimit-limit': '30' } });
    await setup.clock.runUntil(setup.send(budget, 'ping'));
    budget.takeFreed();
    const owners = new MemoryBudgetStore(setup.clock);
    budget.adopt(owners);
    await setup.clock.advance(20_000);
    await setup.clock.runUntil(setup.send(budget, 'next'));
    expect([setup.store.reservations, owners.reservations]).toEqual([1, 1]);
    const { learnt } = await owners.load('key');
    expect(learnt.map((row) => row.learnt.limits?.['/v1/lists']?.limit)).toEqual([30]);
  });

  it('leaves slots alone when the wall clock jumps under a running budget', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted('bulk_lists');
    setup.clock.jumpWall(DAY_MS);
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 1, { group: 'bulk_lists' });
    expect(setup.clock.monotonic() - before).toBeGreaterThan(60_000);
  });
});

describe('freed slots', () => {
  it('ride in a page once, and again when its transaction failed', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted('bulk_lists');
    const freed = budget.takeFreed();
    expect(freed?.blocks.flatMap((block) => block.freed)).toHaveLength(1);
    expect(budget.takeFreed()).toBeUndefined();
    if (freed !== undefined) budget.putBack(freed);
    expect(budget.takeFreed()).toEqual(freed);
  });

  it('are kept when a flush fails', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted('bulk_lists');
    setup.store.failure = new Error('database is away');
    await expect(setup.clock.runUntil(budget.flush())).rejects.toThrow('away');
    expect(budget.takeFreed()).toBeDefined();
  });
});

describe('the first requests', () => {
  it('of a key that nobody ever used go one at a time until one is answered', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    const all = Promise.all([setup.send(budget, 'a'), setup.send(budget, 'b', { group: 'sequence' })]);
    await setup.clock.runUntil(all);
    expect(setup.mostInFlight).toBe(1);
  });

  it('to a group are at most four at once until ten were accepted', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    await setup.sendMany(budget, 10);
    expect(setup.mostInFlight).toBe(4);
    await setup.sendMany(budget, 20);
    expect(setup.mostInFlight).toBe(20);
  });

  it('of a used key without rows are one ping, and then the window is waited out', async () => {
    const setup = new Setup();
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
    const setup = new Setup();
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

  it('that nothing explains paces the group, is reported, and is remembered by the next process', async () => {
    const setup = new Setup();
    const budget = await setup.acquainted();
    setup.answer = () => ({ status: 429, headers: {} });
    await setup.clock.runUntil(setup.send(budget, 'refused'));
    expect(setup.events.map((each) => each.kind)).toEqual(['refused']);
    expect(setup.events[0]?.message).toContain('one request each 1.0 s');
    await setup.clock.advance(5);
    const next = await setup.budget();
    const other = next.snapshot().groups.find((each) => each.group === 'other');
    expect(other?.pacedMs).toBeCloseTo(60_000 / 59);
    expect(other?.pausedForMs).toBeGreaterThan(60_000);
  });

  it('that names a limit over all endpoints limits their sum', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    setup.answer = () => ({ status: 200, headers: { 'x-ratelimit-limit': '60' } });
    await setup.sendMany(budget, 20);
    setup.answer = () => ({ status: 429, headers: { 'x-ratelimit-limit': '21', 'retry-after': '60' } });
    await setup.sendMany(budget, 1);
    expect(budget.snapshot().overallLimit).toBe(21);
  });
});

describe('a lifted limit', () => {
  it('is believed after first contact, and thousands of requests a second cost little', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    setup.answer = () => ({
      status: 200,
      headers: { 'x-ratelimit-limit': '1000000', 'x-ratelimit-remaining': '999999' },
    });
    await setup.sendMany(budget, 10);
    const before = setup.clock.monotonic();
    await setup.sendMany(budget, 20_000);
    expect(setup.clock.monotonic() - before).toBeLessThan(2_000);
    expect(setup.store.reservations).toBeLessThan(200);
  }, 10_000);

  it('of nonsense changes nothing', async () => {
    const setup = new Setup();
    const budget = await setup.budget();
    setup.answer = () => ({
      status: 200,
      headers: { 'x-ratelimit-limit': 'off', 'x-ratelimit-remaining': '∞' },
    });
    await setup.sendMany(budget, 20);
    expect(budget.snapshot().groups.find((each) => each.group === 'other')?.limit).toBe(60);
  });
});

describe('a closed budget', () => {
  it('rejects what waits and what comes, and leaves no timer', async () => {
    const setup = new Setup();
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
