import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { KeyRefused, LeaseLost, TransportError } from '../../model/errors.ts';
import type { AccountReader } from '../account/account-reader.ts';
import type { ReadRequest } from '../account/read-root.ts';
import { accountService, type AccountService, type Companion } from './account-service.ts';
import { addTotals, NO_TOTALS } from '../walk-run/walk-totals.ts';
import { NOTHING, type ReadOutcome } from '../account/read-outcome.ts';

const GOOD: ReadOutcome = NOTHING;

type Reading = ReadRequest['what'] | 'due' | 'settle';
type Outcome = ReadOutcome & { readonly againMs?: number };
type Answer = (name: string, what: Reading) => Outcome | Promise<Outcome>;

const running: AccountService[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});

function account(
  answer: Answer,
  ping: () => Promise<void> = () => Promise.resolve(),
  companions: readonly Companion[] = [],
  onState: () => Promise<void> = () => Promise.resolve(),
  hasOthers?: () => boolean,
) {
  const clock = new VirtualClock();
  const reads: string[] = [];
  const states: string[] = [];
  const read = async (name: string, what: Reading): Promise<ReadOutcome> => {
    reads.push(`${name} ${what}`);
    return answer(name, what);
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
    ping,
    onState: (state) => {
      states.push(state);
      return onState();
    },
    onFailure: () => {},
    companions,
    ...(hasOthers === undefined ? {} : { hasOthers }),
    clock,
    random: () => 1,
  });
  running.push(service);
  /** Starts it, and lets what it does at once be done. */
  const begin = async (): Promise<void> => {
    await service.start();
    await clock.advance(0);
  };
  const count = (reading: string): number => reads.filter((each) => each === reading).length;
  return { clock, service, begin, reads, count, states };
}

describe('a running account', () => {
  it('polls everything at its start, and reads suspects again that were left', async () => {
    const { begin, reads } = account(() => GOOD);
    await begin();
    expect(reads.toSorted()).toEqual([
      'list_items due',
      'list_items poll',
      'list_items settle',
      'lists poll',
      'lists settle',
    ]);
  });

  it('looks for lists that are due when a poll found a change of lists, or none looked for half a minute', async () => {
    let changed = false;
    const { clock, service, reads, count } = account((name, what) =>
      changed && name === 'lists' && what === 'poll'
        ? { ...GOOD, totals: addTotals(NO_TOTALS, { updated: 1 }) }
        : GOOD,
    );
    await service.start();
    await clock.advance(10_000);
    const dueAfterPoll = async (): Promise<number> => {
      reads.length = 0;
      service.pollDue('lists');
      await clock.advance(10_000);
      return count('list_items due');
    };
    expect(await dueAfterPoll()).toBe(0);
    expect(await dueAfterPoll()).toBe(0);
    expect(await dueAfterPoll()).toBe(1);
    expect(await dueAfterPoll()).toBe(0);
    changed = true;
    expect(await dueAfterPoll()).toBe(1);
  });

  it('reads all rows where a poll says that only that can do, and waits for no second proof', async () => {
    const { begin, reads } = account((name, what) =>
      name === 'list_items' && what === 'poll' ? { ...GOOD, fullNeeded: true } : GOOD,
    );
    await begin();
    expect(reads).toContain('list_items rows');
  });

  it('does not read all rows twice: a full walk that is to begin will do', async () => {
    let fails = true;
    const { clock, service, reads, count } = account((name, what) => {
      if (name === 'lists' && what === 'poll') return { ...GOOD, fullNeeded: true };
      return fails && what === 'full' ? { ...GOOD, error: new TransportError('away') } : GOOD;
    });
    await service.start();
    service.runDue('lists', 'full', new Date(0));
    await clock.advance(0);
    // While the failed walk waits to be tried again, it is still due.
    service.runDue('lists', 'full', new Date(0));
    reads.length = 0;
    fails = false;
    service.pollDue('lists');
    await clock.advance(60_000);
    expect(count('lists full')).toBe(1);
    expect(reads).not.toContain('lists rows');
  });

  it('begins what is owed once, however often it is told, and again where nothing came of it', async () => {
    const { begin, clock, service, reads, count } = account(() => GOOD);
    await begin();
    reads.length = 0;
    const due = new Date(0);
    for (let seconds = 0; seconds < 299; seconds += 1) {
      service.runDue('lists', 'full', due);
      await clock.advance(1_000);
    }
    expect(count('lists full')).toBe(1);
    await clock.advance(1_000);
    service.runDue('lists', 'full', due);
    await clock.advance(0);
    expect(count('lists full')).toBe(2);
    // Another moment that has come is another promise.
    service.runDue('lists', 'full', new Date(1));
    await clock.advance(0);
    expect(count('lists full')).toBe(3);
  });

  it('begins what is owed after a key was refused, and good again', async () => {
    let refused = true;
    const { clock, service, reads } = account((_, what) => {
      if (what === 'full' && refused) throw new KeyRefused('no', 401);
      return GOOD;
    });
    await service.start();
    service.runDue('lists', 'full', new Date(0));
    await clock.advance(0);
    refused = false;
    reads.length = 0;
    await clock.advance(120_000);
    service.runDue('lists', 'full', new Date(0));
    await clock.advance(0);
    expect(reads).toContain('lists full');
  });

  it('goes on with a first load within minutes of an outage’s end, however long that was', async () => {
    let isAway = true;
    const { clock, service, reads } = account((name, what) =>
      isAway && name === 'lists' && what === 'full' ? { ...GOOD, error: new TransportError('away') } : GOOD,
    );
    await service.start();
    service.runDue('lists', 'full', new Date(0));
    await clock.advance(3 * 3_600_000);
    isAway = false;
    reads.length = 0;
    await clock.advance(300_000);
    expect(reads).toContain('lists full');
    reads.length = 0;
    await clock.advance(3_600_000);
    expect(reads).toEqual([]);
  });

  it('stops when its keys are refused, asks after 30 s, 1, 5 and 15 minutes, and goes on', async () => {
    let good = false;
    let pings = 0;
    const refused = new KeyRefused('bad key', 401);
    const { begin, clock, states, reads } = account(
      () => (good ? GOOD : Promise.reject(refused)),
      () => {
        pings += 1;
        return good ? Promise.resolve() : Promise.reject(refused);
      },
    );
    await begin();
    expect(states).toEqual(['stopped']);
    await clock.advance(29_999);
    expect(pings).toBe(0);
    await clock.advance(1);
    expect(pings).toBe(1);
    await clock.advance(60_000);
    await clock.advance(300_000);
    expect(pings).toBe(3);
    good = true;
    reads.length = 0;
    await clock.advance(900_000);
    expect(states).toEqual(['stopped', 'active']);
    expect(reads).toContain('lists poll');
  });

  it.each([0, 40_000])('is left to other daemons when its keys are refused, %i ms after that', async (ms) => {
    let pings = 0;
    const refused = new KeyRefused('bad key', 401);
    const ping = (): Promise<void> => {
      pings += 1;
      return Promise.reject(refused);
    };
    let others = ms === 0;
    const made = account(
      () => Promise.reject(refused),
      ping,
      [],
      undefined,
      () => others,
    );
    await made.service.start();
    await made.clock.advance(ms);
    others = true;
    await made.clock.advance(1_000);
    await expect(made.service.ended).resolves.toBe(refused);
    expect(made.states).toEqual(['stopped']);
    expect(pings).toBe(ms === 0 ? 0 : 1);
  });

  it('ends where it can not be stored that its keys are good again, and waits for no further ping', async () => {
    const refusal = new KeyRefused('bad key', 401);
    const stored = [Promise.resolve(), Promise.reject(new DatabaseUnavailable('away'))];
    stored[1]?.catch(() => {});
    const { clock, service, states } = account(
      () => Promise.reject(refusal),
      undefined,
      [],
      () => stored.shift() ?? Promise.resolve(),
    );
    await service.start();
    await clock.advance(30_000);
    expect(states).toEqual(['stopped', 'active']);
    await expect(service.ended).resolves.toBeInstanceOf(DatabaseUnavailable);
  });

  it('reads suspects again when a walk found some, and once more when the others are due', async () => {
    let againMs: number | undefined;
    let raised = false;
    const { begin, clock, service, count } = account((name, what) => {
      if (what === 'settle') return { ...GOOD, ...(againMs === undefined ? {} : { againMs }) };
      return { ...GOOD, suspects: raised && name === 'lists' ? ['lists'] : [] };
    });
    await begin();
    expect(count('lists settle')).toBe(1);
    service.pollDue('lists');
    await clock.advance(600_000);
    expect(count('lists settle')).toBe(1);

    raised = true;
    againMs = 60_000;
    service.pollDue('lists');
    await clock.advance(59_999);
    expect(count('lists settle')).toBe(2);
    againMs = undefined;
    await clock.advance(1);
    expect(count('lists settle')).toBe(3);
    // Nothing is left that can be settled: no more is read, however long it takes.
    await clock.advance(3_600_000);
    expect(count('lists settle')).toBe(3);
  });

  it('keeps one wait for what ripens: a later bell takes the earlier one’s place', async () => {
    const { clock, service, reads } = account((name, what) =>
      what === 'settle' && name === 'lists'
        ? { ...GOOD, againMs: 60_000 }
        : { ...GOOD, suspects: name === 'lists' ? ['lists'] : [] },
    );
    await service.start();
    for (let times = 0; times < 10; times += 1) {
      service.pollDue('lists');
      await clock.advance(1_000);
    }
    reads.length = 0;
    await clock.advance(59_000);
    expect(reads).toEqual(['lists settle']);
  });

  it('runs its companions, ends them where a key is refused, and begins them again when one is good', async () => {
    let begun = 0;
    let ended = 0;
    const refuse = Promise.withResolvers<never>();
    const companion: Companion = async (signal) => {
      begun += 1;
      if (begun === 1) return refuse.promise;
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      ended += 1;
      throw signal.reason;
    };
    const { begin, clock, service, states } = account(() => GOOD, undefined, [companion]);
    await begin();
    expect(begun).toBe(1);
    refuse.reject(new KeyRefused('bad key', 401));
    await clock.advance(30_000);
    expect(states).toEqual(['stopped', 'active']);
    expect({ begun, ended }).toEqual({ begun: 2, ended: 0 });
    await service.stop();
    expect(ended).toBe(1);
    await expect(service.ended).resolves.toBeUndefined();
  });

  it('does what a companion’s readings leave to be done', async () => {
    const companion: Companion = (signal, follow) => {
      follow({ suspects: [], fullWalks: ['list_items'] });
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    };
    const { begin, reads } = account(() => GOOD, undefined, [companion]);
    await begin();
    expect(reads).toContain('list_items full');
  });

  it('ends when the account is another process’s', async () => {
    const { begin, service } = account(() => Promise.reject(new LeaseLost('another owner')));
    await begin();
    await expect(service.ended).resolves.toBeInstanceOf(LeaseLost);
  });

  it('ends its waits at a stop', async () => {
    const { begin, service } = account(() => ({ ...GOOD, error: new TransportError('no route') }));
    await begin();
    await service.stop();
    await expect(service.ended).resolves.toBeUndefined();
  });
});
