import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { KeyRefused, LeaseLost, TransportError } from '../model/errors.ts';
import type { AccountReader } from '../sync/account-reader.ts';
import type { ReadRequest } from '../sync/read-root.ts';
import { accountService, type AccountService, type AccountServiceOptions, type Companion } from './account-service.ts';
import { EMPTY_OUTCOME, type ReadOutcome } from '../sync/walk-result.ts';
import { addTotals, NO_TOTALS } from '../model/sync-events.ts';

type Reading = ReadRequest['what'] | 'due' | 'settle';
type Outcome = Partial<ReadOutcome> & { readonly againMs?: number };
/** What a reading (`lists poll`) brings beside the usual; it may throw. */
type Answer = (reading: string) => Outcome;

const AWAY = { error: new TransportError('no route') };
const REFUSED = new KeyRefused('bad key', 401);
const refuse = (): never => {
  throw REFUSED;
};
const DUE = new Date(0);

const running: AccountService[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});

/** A running account, which has done what it does at once. */
async function account(answer: Answer = () => ({}), more: Partial<AccountServiceOptions> = {}) {
  const clock = new VirtualClock();
  const reads: string[] = [];
  const states: string[] = [];
  const failures: string[] = [];
  const pings: number[] = [];
  const read = async (name: string, what: Reading): Promise<ReadOutcome> => {
    reads.push(`${name} ${what}`);
    return { ...EMPTY_OUTCOME, ...answer(`${name} ${what}`) };
  };
  const reader = {
    userId: '1',
    read: (name: string, { what }: ReadRequest) => read(name, what),
    readDue: (name: string) => read(name, 'due'),
    confirmDeletions: (name: string) => read(name, 'settle'),
  } as unknown as AccountReader;
  const service = accountService({
    reader,
    collections: ['lists', 'list_items'],
    tidy: () => Promise.resolve(),
    onFailure: (what, error) => failures.push(`${what}: ${error.message}`),
    clock,
    random: () => 1,
    companions: [],
    ...more,
    ping: async (signal) => {
      pings.push(clock.monotonic());
      await more.ping?.(signal);
    },
    onState: async (state, reason) => {
      states.push(state);
      await more.onState?.(state, reason);
    },
  });
  running.push(service);
  await service.start();
  await clock.advance(0);
  const count = (reading: string): number => reads.filter((each) => each === reading).length;
  /** How often it is read within so long. */
  const within = async (ms: number, reading: string): Promise<number> => {
    reads.length = 0;
    await clock.advance(ms);
    return count(reading);
  };
  return { clock, service, reads, count, within, states, failures, pings };
}

describe('a running account', () => {
  it('polls everything at its start, and reads earlier suspects again', async () => {
    const { reads } = await account();
    const items = ['list_items due', 'list_items poll', 'list_items settle'];
    expect(reads.toSorted()).toEqual([...items, 'lists poll', 'lists settle']);
  });

  it('reads due lists after a poll found a change, or half a minute after the last time', async () => {
    let changed = false;
    const { clock, service, within } = await account((reading) =>
      changed && reading === 'lists poll' ? { totals: addTotals(NO_TOTALS, { updated: 1 }) } : {},
    );
    await clock.advance(10_000);
    const dueAfterPoll = (): Promise<number> => {
      service.pollDue('lists');
      return within(10_000, 'list_items due');
    };
    for (const found of [0, 0, 1, 0]) expect(await dueAfterPoll()).toBe(found);
    changed = true;
    expect(await dueAfterPoll()).toBe(1);
  });

  it('reads all rows at once if a poll can not do with less', async () => {
    const { reads } = await account((reading) => ({ fullNeeded: reading === 'list_items poll' }));
    expect(reads).toContain('list_items rows');
  });

  it('does not read all rows twice if a full walk is about to begin', async () => {
    let fails = true;
    const { clock, service, within, reads } = await account((reading) =>
      reading === 'lists poll' ? { fullNeeded: true } : fails && reading === 'lists full' ? AWAY : {},
    );
    service.runDue('lists', 'full', DUE);
    await clock.advance(0);
    // While the failed walk waits to be tried again, it is still due.
    service.runDue('lists', 'full', DUE);
    fails = false;
    service.pollDue('lists');
    expect(await within(60_000, 'lists full')).toBe(1);
    expect(reads).not.toContain('lists rows');
  });

  it('begins a due run once, and again if it came to nothing', async () => {
    const { clock, service, count } = await account();
    for (let seconds = 0; seconds < 299; seconds += 1) {
      service.runDue('lists', 'full', DUE);
      await clock.advance(1_000);
    }
    expect(count('lists full')).toBe(1);
    await clock.advance(1_000);
    service.runDue('lists', 'full', DUE);
    await clock.advance(0);
    expect(count('lists full')).toBe(2);
    // Another moment that has come is another promise.
    service.runDue('lists', 'full', new Date(1));
    await clock.advance(0);
    expect(count('lists full')).toBe(3);
  });

  it('begins a due run again once a refused key is good', async () => {
    let refused = true;
    const { clock, service, within } = await account((reading) =>
      refused && reading.endsWith('full') ? refuse() : {},
    );
    service.runDue('lists', 'full', DUE);
    await clock.advance(0);
    refused = false;
    await clock.advance(120_000);
    service.runDue('lists', 'full', DUE);
    expect(await within(0, 'lists full')).toBe(1);
  });

  it('continues a first load within minutes of the end of an outage', async () => {
    let isAway = true;
    const { clock, service, within, reads } = await account((reading) =>
      isAway && reading === 'lists full' ? AWAY : {},
    );
    service.runDue('lists', 'full', DUE);
    await clock.advance(3 * 3_600_000);
    isAway = false;
    expect(await within(300_000, 'lists full')).toBe(1);
    await within(3_600_000, '');
    expect(reads).toEqual([]);
  });

  it('stops when its keys are refused, pings after 30 s, 1, 5 and 15 minutes, and continues', async () => {
    let good = false;
    const answer = () => (good ? {} : refuse());
    const { clock, states, within, pings } = await account(answer, { ping: async () => void answer() });
    expect(states).toEqual(['stopped']);
    await clock.advance(390_000);
    good = true;
    expect(await within(900_000, 'lists poll')).toBe(1);
    expect(pings).toEqual([30_000, 90_000, 390_000, 1_290_000]);
    expect(states).toEqual(['stopped', 'active']);
  });

  it.each([0, 40_000])('is left to other daemons that live %i ms after its keys were refused', async (ms) => {
    let others = ms === 0;
    const { clock, service, states, pings } = await account(refuse, {
      ping: async () => refuse(),
      hasOthers: () => others,
    });
    await clock.advance(ms);
    others = true;
    await clock.advance(1_000);
    await expect(service.ended).resolves.toBe(REFUSED);
    expect(states).toEqual(['stopped']);
    expect(pings).toHaveLength(ms === 0 ? 0 : 1);
  });

  it('ends if it can not store that its keys are good again', async () => {
    const { clock, service, states } = await account(refuse, {
      onState: async (state) => {
        if (state === 'active') throw new DatabaseUnavailable('away');
      },
    });
    await clock.advance(30_000);
    expect(states).toEqual(['stopped', 'active']);
    await expect(service.ended).resolves.toBeInstanceOf(DatabaseUnavailable);
  });

  it('reads suspects again when a walk found some, and again when the others are due', async () => {
    let againMs: number | undefined;
    let raised = false;
    const { service, count, within } = await account((reading) => {
      if (reading.endsWith('settle')) return againMs === undefined ? {} : { againMs };
      return { suspects: raised && reading.startsWith('lists ') ? ['lists'] : [] };
    });
    expect(count('lists settle')).toBe(1);
    service.pollDue('lists');
    expect(await within(600_000, 'lists settle')).toBe(0);

    raised = true;
    againMs = 60_000;
    service.pollDue('lists');
    expect(await within(59_999, 'lists settle')).toBe(1);
    againMs = undefined;
    expect(await within(1, 'lists settle')).toBe(1);
    // Nothing is left that can be settled: no more is read, however long it takes.
    expect(await within(3_600_000, 'lists settle')).toBe(0);
  });

  it('keeps one wait for suspects: a later ring replaces the earlier wait', async () => {
    const { clock, service, reads, within } = await account((reading) =>
      reading === 'lists settle' ? { againMs: 60_000 } : { suspects: reading.startsWith('lists ') ? ['lists'] : [] },
    );
    for (let times = 0; times < 10; times += 1) {
      service.pollDue('lists');
      await clock.advance(1_000);
    }
    await within(59_000, '');
    expect(reads).toEqual(['lists settle']);
  });

  it('runs its companions, ends them when a key is refused, and begins them again when one is good', async () => {
    const told: string[] = [];
    const refused = Promise.withResolvers<never>();
    const companion: Companion = async (signal) => {
      told.push('begun');
      if (told.length === 1) return refused.promise;
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      told.push('ended');
      throw signal.reason;
    };
    const { clock, service, states } = await account(undefined, { companions: [companion] });
    expect(told).toEqual(['begun']);
    refused.reject(REFUSED);
    await clock.advance(30_000);
    expect(states).toEqual(['stopped', 'active']);
    expect(told).toEqual(['begun', 'begun']);
    await service.stop();
    expect(told).toEqual(['begun', 'begun', 'ended']);
    await expect(service.ended).resolves.toBeUndefined();
  });

  it('starts the work that a companion’s readings need', async () => {
    const companion: Companion = (signal, follow) => {
      follow({ suspects: [], fullWalks: ['list_items'] });
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    };
    const { reads } = await account(undefined, { companions: [companion] });
    expect(reads).toContain('list_items full');
  });

  it('ends when another process owns the account', async () => {
    const { service } = await account(() => {
      throw new LeaseLost('another owner');
    });
    await expect(service.ended).resolves.toBeInstanceOf(LeaseLost);
  });

  it('ends its waits at a stop', async () => {
    const { service } = await account(() => AWAY);
    await service.stop();
    await expect(service.ended).resolves.toBeUndefined();
  });
});
