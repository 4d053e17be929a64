import { afterEach, describe, expect, it } from 'vitest';
import { MemoryAccount } from '../../../test/support/sync/memory-account.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { PRIORITY } from '../../budget/priorities.ts';
import type { CollectionName } from '../../model/collections.ts';
import { KeyRefused, LeaseLost, TransportError } from '../../model/errors.ts';
import { Stopped } from '@research-mirror/runtime/service';
import { NOTHING } from '../account/read-outcome.ts';
import { hintDispatcher } from './hint-dispatcher.ts';
import type { HintedOutcome, HintedRequest } from '../account/read-hinted.ts';

interface Reading {
  readonly name: CollectionName;
  readonly at: number;
  readonly keys: readonly string[];
  readonly priority: number;
  readonly requests: number | undefined;
}

const JOBS = 'research_jobs';
/** One request, which covered everything. */
const READ = { ...NOTHING, totals: { ...NOTHING.totals, requests: 1 } };
const ALL: HintedOutcome = { outcome: READ, walkNeeded: false, covers: () => true };

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A running dispatcher, whose readings `answer` scripts. */
async function running(
  answer: (reading: Reading, request: HintedRequest) => HintedOutcome | Promise<HintedOutcome> = () => ALL,
  /** Scopes that were hinted before. */
  earlier: readonly CollectionName[] = [],
) {
  const clock = new VirtualClock();
  const { hints, hintStore, hint } = await MemoryAccount.make(clock, {}).then((account) => ({
    hints: account.hints,
    hintStore: account.hintStore,
    hint: (name: CollectionName, key: string, parent = '') => account.hint(name, key, parent),
  }));
  for (const name of earlier) hint(name, '1');
  const readings: Reading[] = [];
  const walks: number[] = [];
  const failures: string[] = [];
  const state = { crowded: false, walking: false, listRows: 10 };
  const dispatcher = hintDispatcher({
    reader: {
      userId: '7',
      isWalking: () => state.walking,
      read: () => {
        walks.push(clock.monotonic());
        return Promise.resolve(NOTHING);
      },
      readHinted: async (name, request) => {
        const reading = {
          name,
          at: clock.monotonic(),
          keys: request.hinted.keys,
          priority: request.priority,
          requests: request.requests,
        };
        readings.push(reading);
        return answer(reading, request);
      },
    },
    store: { ...hintStore, size: () => Promise.resolve(state.listRows) },
    collections: [JOBS, 'bulk_research_jobs', 'lists', 'list_items'],
    budget: { perMinute: () => 48, crowded: () => state.crowded },
    gracePeriodMs: 60_000,
    onFailure: (what, error) => failures.push(`${what}: ${error.message}`),
    clock,
    random: () => 1,
  });
  const stop = new AbortController();
  const followed: unknown[] = [];
  const ended = dispatcher
    .loop(stop.signal, (outcome) => followed.push(outcome))
    .then(
      () => new Error('it can only throw'),
      (error: unknown) => error,
    );
  stops.push(() => {
    stop.abort(new Stopped('the test'));
    return ended;
  });
  await clock.advance(0);
  const events = (name: CollectionName, ...keys: string[]): void => {
    for (const key of keys) hint(name, key);
    dispatcher.bell.ring();
  };
  return { clock, dispatcher, hints, hint, readings, walks, failures, followed, state, stop, ended, events };
}

describe('the desk of hints', () => {
  it('begins to read at the bell, without any wait, and takes all that is due together', async () => {
    const { clock, events, readings } = await running();
    events(JOBS, '1', '2', '3');
    await clock.advance(0);
    expect(readings).toEqual([
      { name: JOBS, at: 0, keys: ['1', '2', '3'], priority: PRIORITY.HINT, requests: 5 },
    ]);
  });

  it('reads what was due before it ran', async () => {
    const first = await running(() => Promise.reject(new KeyRefused('refused', 401)));
    first.events(JOBS, '1');
    await first.clock.advance(0);
    expect(await first.ended).toBeInstanceOf(KeyRefused);
    expect(first.hints.size).toBe(1);
    // The ping found the key good again.
    first.readings.length = 0;
    const stop = new AbortController();
    const again = first.dispatcher.loop(stop.signal, () => {}).catch(() => {});
    stops.push(() => {
      stop.abort(new Stopped('the test'));
      return again;
    });
    await first.clock.advance(0);
    expect(first.readings.map(({ keys }) => keys)).toEqual([['1']]);
  });

  it('forgets what an earlier configuration mirrored', async () => {
    const { hints } = await running(undefined, ['watchlist']);
    expect(hints.size).toBe(0);
  });

  it('reads a scope once at a time, and again what was hinted meanwhile', async () => {
    const { clock, events, readings } = await running(async (_, { signal }) => {
      await clock.sleep(100, signal);
      return ALL;
    });
    events(JOBS, '1');
    await clock.advance(50);
    events(JOBS, '1', '2');
    await clock.advance(49);
    expect(readings).toHaveLength(1);
    await clock.advance(1);
    expect(readings.map(({ keys }) => keys)).toEqual([['1'], ['1', '2']]);
  });

  it('lets no endpoint that fails or hangs hold up others, and tries again later and later', async () => {
    const { clock, events, readings, failures } = await running(({ name }) =>
      name === JOBS
        ? { ...ALL, outcome: { ...READ, error: new TransportError('no route') }, covers: () => false }
        : ALL,
    );
    events(JOBS, '1');
    events('bulk_research_jobs', '1');
    await clock.advance(0);
    expect(readings.map(({ name }) => name)).toEqual([JOBS, 'bulk_research_jobs']);
    await clock.advance(14_000);
    expect(readings.filter(({ name }) => name === JOBS).map(({ at }) => at)).toEqual([
      0, 2_000, 6_000, 14_000,
    ]);
    expect(failures[0]).toBe('hinted reading of 7/research_jobs: no route');
  });

  it('reads lists before their items', async () => {
    const { clock, events, readings } = await running(async ({ name }, { signal }) => {
      if (name === 'lists') await clock.sleep(100, signal);
      return ALL;
    });
    events('lists', '5');
    events('list_items', '');
    await clock.advance(99);
    expect(readings.map(({ name }) => name)).toEqual(['lists']);
    await clock.advance(1);
    expect(readings.map(({ name }) => name)).toEqual(['lists', 'list_items']);
  });

  it('reads a list that takes more than there is for hints as lists are read, and owes nothing for it', async () => {
    const totals = { ...NOTHING.totals, requests: 40 };
    const { clock, events, hint, readings, state } = await running(() => ({
      ...ALL,
      outcome: { ...NOTHING, totals },
    }));
    state.listRows = 2_501;
    state.crowded = true;
    for (const list of ['1', '2', '3', '4', '5']) hint('list_items', '', list);
    events(JOBS, '1');
    await clock.advance(0);
    const [lists, others] = [PRIORITY.LISTS, PRIORITY.HINT].map(
      (priority) => readings.filter((each) => each.priority === priority).length,
    );
    expect({ lists, others }).toEqual({ lists: 5, others: 1 });
  });

  it('goes behind all others once its part of the budget is used up, each second while nobody waits for a slot', async () => {
    const { clock, events, readings } = await running();
    const storm = (): void => {
      events(JOBS, '1');
      clock.after(100, storm);
    };
    storm();
    await clock.advance(4_450);
    const late = readings.filter(({ priority }) => priority === PRIORITY.LATE_HINT);
    // Five at once; then a token each 2.5 s, and a late reading when a second has passed.
    expect(readings.filter(({ priority }) => priority === PRIORITY.HINT)).toHaveLength(6);
    expect(late.length).toBeGreaterThanOrEqual(2);
    expect(late.length).toBeLessThanOrEqual(4);
  });

  it('leaves slots to whoever waits for them beyond its part', async () => {
    const { clock, events, readings, state } = await running();
    state.crowded = true;
    const storm = (): void => {
      events(JOBS, '1');
      clock.after(100, storm);
    };
    storm();
    await clock.advance(60_000);
    expect(readings.every(({ priority }) => priority === PRIORITY.HINT)).toBe(true);
    // Five, and half of 48 a minute.
    expect(readings.length).toBeLessThanOrEqual(29);
    expect(readings.length).toBeGreaterThanOrEqual(27);
  });

  it('owes what a reading took beyond its first request', async () => {
    const totals = { ...NOTHING.totals, requests: 15 };
    const { clock, events, readings, state } = await running(() => ({
      ...ALL,
      outcome: { ...NOTHING, totals },
    }));
    state.crowded = true;
    events(JOBS, '1');
    await clock.advance(100);
    events(JOBS, '2');
    // Eleven requests are missing for the next one, 2.5 s each.
    await clock.advance(27_000);
    expect(readings).toHaveLength(1);
    await clock.advance(1_000);
    expect(readings).toHaveLength(2);
  });

  it('abandons a late reading that gets no slot: the scope’s polls would stand behind it', async () => {
    let aborted = 0;
    const { clock, events } = await running(async ({ priority }, { signal }) => {
      if (priority === PRIORITY.HINT)
        return { ...ALL, outcome: { ...NOTHING, totals: { ...NOTHING.totals, requests: 50 } } };
      await clock.sleep(3_600_000, signal).catch(() => {
        aborted += 1;
      });
      return { ...ALL, covers: () => false };
    });
    events(JOBS, '1');
    await clock.advance(0);
    events(JOBS, '2');
    await clock.advance(3_600);
    expect(aborted).toBe(1);
  });

  it('reads all rows where nothing less will do, not while a walk is under way, and once in a grace period', async () => {
    const { clock, events, readings, walks, state, hints } = await running(() => ({
      ...ALL,
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

  it('hands on what its readings leave to be done', async () => {
    const outcome = { ...NOTHING, suspects: [JOBS], fullWalks: ['lists'] } as const;
    const { clock, events, followed } = await running(() => ({ ...ALL, outcome }));
    events(JOBS, '1');
    await clock.advance(0);
    expect(followed).toEqual([outcome]);
  });

  it('ends when the account is another process’s, and at a stop once its readings have ended', async () => {
    const lost = await running(() => Promise.reject(new LeaseLost('another owner')));
    lost.events(JOBS, '1');
    await lost.clock.advance(0);
    expect(await lost.ended).toBeInstanceOf(LeaseLost);
    expect(lost.hints.size).toBe(1);

    const order: string[] = [];
    const { clock, events, stop, ended, hints } = await running(async (_, { signal }) => {
      await clock.sleep(3_600_000, signal).catch(() => {});
      // The page in hand is still written.
      await clock.sleep(1_000);
      order.push('reading');
      throw signal.reason;
    });
    const dispatcher = ended.then((error) => [...order, error]);
    events(JOBS, '1');
    await clock.advance(0);
    stop.abort(new Stopped('the test'));
    await clock.advance(1_000);
    expect(await dispatcher).toEqual(['reading', expect.any(Stopped)]);
    expect(hints.size).toBe(1);
  });
});
