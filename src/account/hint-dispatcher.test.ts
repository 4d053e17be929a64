import { afterEach, describe, expect, it } from 'vitest';
import { MemoryAccount } from '../../test/support/sync/memory-account.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { PRIORITY } from '../service/rate-groups.ts';
import type { CollectionName } from '../model/collections.ts';
import { KeyRefused, LeaseLost, TransportError } from '../model/errors.ts';
import { Stopped } from '@research-mirror/runtime/service';
import { EMPTY_OUTCOME } from '../sync/walk-result.ts';
import { hintDispatcher } from './hint-dispatcher.ts';
import type { HintedOutcome, HintedRequest } from '../sync/read-hinted.ts';

type Reading = Pick<HintedRequest, 'keys' | 'priority'> & {
  name: CollectionName;
  at: number;
  requests: number | undefined;
};

const JOBS = 'research_jobs';

/** A reading that took so many requests, which covered everything. */
const took = (requests: number): HintedOutcome => ({
  outcome: { ...EMPTY_OUTCOME, totals: { ...EMPTY_OUTCOME.totals, requests } },
  walkNeeded: false,
  covers: () => true,
});

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A running dispatcher, whose readings `answer` scripts. */
async function running(
  answer: (reading: Reading, request: HintedRequest) => HintedOutcome | Promise<HintedOutcome> = () => took(1),
) {
  const clock = new VirtualClock();
  const account = await MemoryAccount.make(clock, {});
  const { hints, hintStore } = account;
  const readings: Reading[] = [];
  const walks: number[] = [];
  const failures: string[] = [];
  const state = { walking: false, listRows: 10, unknownParent: 'none' };
  const dispatcher = hintDispatcher({
    reader: {
      isWalking: () => state.walking,
      read: async () => {
        walks.push(clock.monotonic());
        return EMPTY_OUTCOME;
      },
      readHinted: async ({ collection: name }, request) => {
        const { keys, priority, requests } = request;
        const reading = { name, at: clock.monotonic(), keys, priority, requests };
        readings.push(reading);
        return answer(reading, request);
      },
    },
    store: {
      ...hintStore,
      size: async () => state.listRows,
      live: async (_, keys) => new Set(keys.filter((key) => key !== state.unknownParent)),
    },
    collections: [JOBS, 'bulk_research_jobs', 'lists', 'list_items'],
    perMinute: () => 48,
    gracePeriodMs: 60_000,
    onFailure: (what, error) => failures.push(`${what}: ${error.message}`),
    clock,
    random: () => 1,
  });
  const followed: unknown[] = [];
  /** Runs it. @returns how it is stopped, and by what it ends */
  const begin = () => {
    const stop = new AbortController();
    const ended: Promise<unknown> = dispatcher
      .run(stop.signal, (outcome) => followed.push(outcome))
      .catch((error: unknown) => error);
    stops.push(() => {
      stop.abort(new Stopped('the test'));
      return ended;
    });
    return { stop, ended };
  };
  const first = begin();
  await clock.advance(0);
  const events = (name: CollectionName, ...keys: string[]): void => {
    for (const key of keys) account.hint(name, key);
    dispatcher.bell.ring();
  };
  return { clock, account, hints, readings, walks, failures, followed, state, begin, ...first, events };
}

describe('the dispatcher of hints', () => {
  it('reads at a ring without delay, all due hints together', async () => {
    const { clock, events, readings } = await running();
    events(JOBS, '1', '2', '3');
    await clock.advance(0);
    const keys = ['1', '2', '3'];
    expect(readings).toEqual([{ name: JOBS, at: 0, keys, priority: PRIORITY.HINT, requests: 5 }]);
  });

  it('reads hints that were due before it ran', async () => {
    const { clock, events, ended, hints, readings, begin } = await running(() =>
      Promise.reject(new KeyRefused('refused', 401)),
    );
    events(JOBS, '1');
    await clock.advance(0);
    expect(await ended).toBeInstanceOf(KeyRefused);
    expect(hints.size).toBe(1);
    // The ping found the key good again.
    begin();
    await clock.advance(0);
    expect(readings.map(({ keys }) => keys)).toEqual([['1'], ['1']]);
  });

  it('reads a scope once at a time, and later hints afterwards', async () => {
    const { clock, events, readings } = await running(async (_, { signal }) => {
      await clock.sleep(100, signal);
      return took(1);
    });
    events(JOBS, '1');
    await clock.advance(50);
    events(JOBS, '1', '2');
    await clock.advance(49);
    expect(readings).toHaveLength(1);
    await clock.advance(1);
    expect(readings.map(({ keys }) => keys)).toEqual([['1'], ['1', '2']]);
  });

  it('retries a failing endpoint with growing delays, which delays no other', async () => {
    const error = new TransportError('no route');
    const { clock, events, readings, failures } = await running(({ name }) =>
      name === JOBS ? { ...took(1), outcome: { ...took(1).outcome, error }, covers: () => false } : took(1),
    );
    events(JOBS, '1');
    events('bulk_research_jobs', '1');
    await clock.advance(0);
    expect(readings.map(({ name }) => name)).toEqual([JOBS, 'bulk_research_jobs']);
    await clock.advance(14_000);
    const tries = readings.filter(({ name }) => name === JOBS).map(({ at }) => at);
    expect(tries).toEqual([0, 2_000, 6_000, 14_000]);
    expect(failures[0]).toBe('reading of hinted rows of 7/research_jobs: no route');
  });

  it('reads lists before their items', async () => {
    const { clock, events, readings } = await running(async ({ name }, { signal }) => {
      if (name === 'lists') await clock.sleep(100, signal);
      return took(1);
    });
    events('lists', '5');
    events('list_items', '');
    await clock.advance(99);
    expect(readings.map(({ name }) => name)).toEqual(['lists']);
    await clock.advance(1);
    expect(readings.map(({ name }) => name)).toEqual(['lists', 'list_items']);
  });

  it('reads a list of more than five pages at the priority of lists, outside the bucket', async () => {
    const { clock, account, events, readings, state } = await running(({ priority }) =>
      took(priority === PRIORITY.LISTS ? 40 : 1),
    );
    state.listRows = 2_501;
    for (const list of ['1', '2', '3', '4', '5']) account.hint('list_items', '', list);
    events(JOBS, '1');
    await clock.advance(0);
    const at = (priority: number) => readings.filter((each) => each.priority === priority).length;
    expect([at(PRIORITY.LISTS), at(PRIORITY.HINT)]).toEqual([5, 1]);
  });

  it('sends no request for a list that is not mirrored, and spends no token', async () => {
    const { clock, account, events, readings, state } = await running();
    state.unknownParent = '9';
    account.hint('list_items', '', '9');
    events('list_items');
    await clock.advance(60_000);
    expect(readings).toEqual([]);
    expect(account.hints.size).toBe(0);
    events(JOBS, '1');
    await clock.advance(0);
    expect(readings.map(({ requests }) => requests)).toEqual([5]);
  });

  it('spends later tokens on requests beyond the first one of a reading', async () => {
    const { clock, events, readings } = await running(() => took(15));
    events(JOBS, '1');
    await clock.advance(100);
    events(JOBS, '2');
    // Eleven requests are missing for the next one, 2.5 s each.
    await clock.advance(27_000);
    expect(readings).toHaveLength(1);
    await clock.advance(1_000);
    expect(readings).toHaveLength(2);
  });

  it('reads all rows if nothing less covers a hint, not during a walk, and once in a grace period', async () => {
    const { clock, events, readings, walks, state, hints } = await running(() => ({
      ...took(1),
      walkNeeded: true,
      covers: (key) => key === '1',
    }));
    state.walking = true;
    events(JOBS, '1', '2');
    await clock.advance(59_000);
    expect(walks).toEqual([]);
    expect(readings).toHaveLength(1);
    state.walking = false;
    hints.delete(`${JOBS}//1`);
    await clock.advance(1_000);
    expect(walks).toHaveLength(1);
    events(JOBS, '3');
    await clock.advance(50_000);
    expect(walks).toHaveLength(1);
    await clock.advance(11_000);
    expect(walks).toHaveLength(2);
  });

  it('passes on the work that its readings need', async () => {
    const outcome = { ...EMPTY_OUTCOME, suspects: [JOBS], fullWalks: ['lists'] } as const;
    const { clock, events, followed } = await running(() => ({ ...took(1), outcome }));
    events(JOBS, '1');
    await clock.advance(0);
    expect(followed).toEqual([outcome]);
  });

  it('ends when another process owns the account', async () => {
    const { clock, events, ended, hints } = await running(() => Promise.reject(new LeaseLost('another owner')));
    events(JOBS, '1');
    await clock.advance(0);
    expect(await ended).toBeInstanceOf(LeaseLost);
    expect(hints.size).toBe(1);
  });

  it('ends at a stop once its readings have ended', async () => {
    const order: unknown[] = [];
    const { clock, events, stop, ended, hints } = await running(async (_, { signal }) => {
      await clock.sleep(3_600_000, signal).catch(() => {});
      // The page in hand is still written.
      await clock.sleep(1_000);
      order.push('reading');
      throw signal.reason;
    });
    const over = ended.then((error) => order.push(error));
    events(JOBS, '1');
    await clock.advance(0);
    stop.abort(new Stopped('the test'));
    await clock.advance(1_000);
    await over;
    expect(order).toEqual(['reading', expect.any(Stopped)]);
    expect(hints.size).toBe(1);
  });
});
