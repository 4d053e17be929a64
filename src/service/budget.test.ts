import { beforeEach, describe, expect, it } from 'vitest';
import { BudgetSetup } from '../../test/support/budget/budget-setup.ts';
import type { Budget } from './budget.ts';
import type { BudgetSnapshot } from './key-budget.ts';
import { PRIORITY, type Priority, type RateGroup } from './rate-groups.ts';
import { storedSnapshot } from './slot-store.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

let setup: BudgetSetup;
beforeEach(() => {
  setup = new BudgetSetup();
});

const groupOf = ({ groups }: BudgetSnapshot, name: RateGroup = 'other') => groups.find(({ group }) => group === name);

/** From now on the service answers so: with these values of its headers, where they are given. */
function answers(status: number, headers: { limit?: number; left?: () => number; retry?: number } = {}): void {
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

/** How long (ms) so many requests take, of each of these groups at a time. */
async function took(budget: Budget, count: number, ...groups: RateGroup[]): Promise<number> {
  const before = setup.clock.monotonic();
  const all = groups.length === 0 ? (['other'] as const) : groups;
  await Promise.all(all.map((group) => setup.sendMany(budget, count, { group })));
  return setup.clock.monotonic() - before;
}

describe('a free slot', () => {
  it('goes to the highest priority that waits at that moment, then to the first that came', async () => {
    const budget = await setup.acquainted('bulk_lists');
    const wait = (name: string, priority: Priority) => setup.send(budget, name, { group: 'bulk_lists', priority });
    const waiting = [wait('full', PRIORITY.FULL), wait('poll 1', PRIORITY.POLL), wait('poll 2', PRIORITY.POLL)];
    await setup.clock.advance(30_000);
    await setup.clock.runUntil(Promise.all([...waiting, wait('hint', PRIORITY.HINT)]));
    expect(setup.sent.slice(2)).toEqual(['hint', 'poll 1', 'poll 2', 'full']);
  });

  it('is free a window and a guard after the answer, not after the sending', async () => {
    const budget = await setup.acquainted('bulk_lists');
    // Two requests went one after another, 50 ms and a commit of 2 ms each.
    expect(await took(budget, 1, 'bulk_lists')).toBe(60_250 - 52 + 52);
  });

  it('is kept for high priority only while there is such work, and only above a limit of 1', async () => {
    const group = 'bulk_lists';
    const budget = await setup.budget();
    await setup.clock.runUntil(setup.send(budget, 'high', { group, priority: PRIORITY.SUBMISSION }));
    expect(await took(budget, 1, group)).toBeGreaterThan(59_000);
    await setup.clock.advance(2 * MINUTE);
    expect(await took(budget, 2, group)).toBeLessThan(1_000);
    expect(groupOf((await new BudgetSetup().acquainted(group, 0.5)).snapshot(), group)?.size).toBe(1);
  });

  it('is counted within the share, at least one', async () => {
    const budget = await setup.budget(0.8);
    expect(budget.snapshot().groups.map((each) => each.size)).toEqual([4, 8, 1, 16, 48]);
  });
});

describe('the first requests', () => {
  it('of a key that was never used go one at a time until one is answered', async () => {
    await took(await setup.budget(), 1, 'other', 'sequence');
    expect(setup.mostInFlight).toBe(1);
  });

  it('are at most four at once until ten were accepted, over all groups, and then spaced ones more', async () => {
    const budget = await setup.budget();
    setup.answersAfterMs = 10_000;
    await took(budget, 5, 'other', 'sequence');
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

  it('of a lifted limit are believed soon, and thousands more cost little', async () => {
    const budget = await setup.budget();
    answers(200, { limit: 1_000_000, left: () => 999_999 });
    await setup.sendMany(budget, 10);
    expect(await took(budget, 5_000)).toBeLessThan(1_000);
    expect(setup.store.reservations).toBeLessThan(100);
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
    const message = expect.stringContaining('one request every 1.0 s') as string;
    expect(setup.events).toMatchObject([{ kind: 'refused', message }]);
    await setup.clock.advance(5);
    const next = await setup.budget();
    const group = groupOf(next.snapshot());
    expect(group).toMatchObject({ size: 58, why: 'waiting after a 429' });
    expect(group?.forMs).toBeGreaterThan(MINUTE);
    answers(200);
    expect(await took(next, 20)).toBeGreaterThan(MINUTE + (19 * MINUTE) / 58);
  });
});

describe('which limit counts, why, and for how long', () => {
  /** Of the group `other`, as its process says it, and as the store alone does. */
  const told = async (budget: Budget) => {
    await setup.clock.runUntil(budget.flush());
    await setup.clock.advance(5);
    return [groupOf(budget.snapshot()), groupOf(storedSnapshot(await setup.store.load('key'), 0.8))];
  };
  const both = <T>(value: T): T[] => [value, value];

  it('is the service’s for the share of it, above the specification’s too', async () => {
    const budget = await setup.budget(0.8);
    answers(200, { limit: 600 });
    await setup.sendMany(budget, 10);
    expect(await told(budget)).toMatchObject(both({ limit: 600, size: 480, why: undefined, forMs: undefined }));
  });

  it('is one over all endpoints for a day, after 429s in two groups that keep within their limits', async () => {
    const budget = await setup.budget(0.8);
    await setup.sendMany(budget, 10);
    answers(429, { retry: 30 });
    await setup.sendMany(budget, 1);
    await setup.sendMany(budget, 1, { group: 'sequence' });
    answers(200);
    expect(await told(budget)).toMatchObject(both({ why: 'waiting after a 429', size: 46 }));
    await setup.clock.advance(2 * MINUTE);
    const why = '429s in two groups show a limit over all endpoints: together they send 46 a minute';
    const shown = await told(budget);
    expect(shown).toMatchObject(both({ limit: 60, size: 46, why }));
    for (const each of shown) expect(each?.forMs).toBeGreaterThan(DAY - 3 * MINUTE);
    expect(await took(budget, 10, 'sequence', 'other')).toBeGreaterThan((19 * MINUTE) / 46);
  });

  it('is a pace', async () => {
    const budget = await setup.acquainted('other', 0.8);
    answers(429, { retry: 1 });
    await setup.sendMany(budget, 1);
    await setup.clock.advance(6_000);
    expect(await told(budget)).toMatchObject(both({ why: 'one request every 1.3 s after a 429' }));
  });

  it('is what others leave, or a lower one', async () => {
    const budget = await setup.budget(0.8);
    let left = 60;
    answers(200, { limit: 60, left: () => (left -= 4) });
    await setup.sendMany(budget, 10);
    expect((await told(budget))[0]?.why).toBe('other programs use 30 of 60');
    answers(200, { limit: 12 });
    await setup.clock.advance(66_000);
    await setup.sendMany(budget, 1);
    const lower = { limit: 12, size: 9, why: 'the service allows 12 instead of 60' };
    expect(await told(budget)).toMatchObject(both(lower));
  });
});

it('a closed budget rejects what waits and what comes, and leaves no timer', async () => {
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

/** A budget of 48 a minute of which a full walk takes all it can. */
async function besideFullWalk(high: boolean) {
  const { clock } = setup;
  const budget = await setup.budget(0.8);
  /** @returns when it was sent */
  const send = async (priority: Priority): Promise<number> =>
    (await setup.send(budget, '', { priority })).receivedAt - 50;
  const sent: number[] = [];
  const walk = async (): Promise<never> => {
    for (;;) sent.push(await send(PRIORITY.FULL));
  };
  if (high) await clock.runUntil(send(PRIORITY.HINT));
  void walk();
  const sentIn = (from: number, to = Infinity): number => sent.filter((at) => at >= from && at < to).length;
  return { clock, sentIn, send };
}

describe('a full walk that takes all slots', () => {
  it('takes them as fast as it can while no request of high priority comes', async () => {
    const { clock, sentIn } = await besideFullWalk(false);
    await clock.advance(5 * MINUTE);
    expect(sentIn(0, 10_000)).toBe(48);
    expect(sentIn(0)).toBeGreaterThanOrEqual(5 * 47);
  });

  it('takes half at once beside one, and leaves one within two seconds once they have come free for the first time', async () => {
    const { clock, sentIn, send } = await besideFullWalk(true);
    await clock.advance(5_000);
    expect(sentIn(0)).toBeGreaterThanOrEqual(23);
    await clock.advance(2 * MINUTE - 5_000);
    const waits: number[] = [];
    for (let times = 0; times < 40; times += 1) {
      const came = clock.monotonic();
      waits.push((await clock.runUntil(send(PRIORITY.HINT))) - came);
      await clock.advance(7_310);
    }
    expect(Math.max(...waits)).toBeLessThan(2_000);
    // All that the budget allows: 48 in a minute, the answers' way and the guard.
    const possible = ((clock.monotonic() - 2 * MINUTE) * 48) / (MINUTE + 300);
    expect(sentIn(2 * MINUTE) + waits.length).toBeGreaterThan(0.97 * possible);
  });
});
