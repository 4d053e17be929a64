import { beforeEach, describe, expect, it } from 'vitest';
import { SubmitterScenario, TIMEOUT_MS } from '../../test/support/submissions/submitter-scenario.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { KeyRefused, LeaseLost } from '../model/errors.ts';

let scenario: SubmitterScenario;
beforeEach(() => {
  scenario = new SubmitterScenario();
});

describe('a service that can’t be reached', () => {
  it('is tried later and later, by one submission of a group at a time, and costs no slot and no submission', async () => {
    const attempts: number[] = [];
    scenario.react = () => {
      attempts.push(scenario.clock.monotonic());
      return { refuse: true };
    };
    scenario.queue(5);
    await scenario.start();
    await scenario.clock.advance(600_000);
    // The first ones went out side by side; then 1, 2, 4 … 60 s pass.
    const gaps = attempts.slice(1).map((at, index) => at - (attempts[index] ?? at));
    const waits = gaps.filter((gap) => gap > 100).map((gap) => Math.round(gap / 1000));
    expect(waits.slice(0, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(scenario.states()).toEqual(Array.from({ length: 5 }, () => 'queued'));
    expect(scenario.store.rows[0]?.error).toMatch(/refused the connection/);
    expect(scenario.slotsUsed('sequence')).toBe(0);
    expect(scenario.lines).toEqual([
      'submissions wait: POST /v1/research/t/sequence: refused the connection',
    ]);
    scenario.react = () => ({});
    await scenario.untilDone();
    expect(scenario.written.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5']);
    expect(scenario.states()).toEqual(Array.from({ length: 5 }, () => 'accepted'));
  });

  it('that breaks connections leaves few outcomes unknown, not the whole queue', async () => {
    scenario.react = () => ({ reset: true });
    scenario.queue(40);
    await scenario.start();
    await scenario.clock.advance(120_000);
    const unknown = scenario.store.rows.filter(({ state }) => state === 'unknown');
    expect(unknown.length).toBeLessThan(12);
    scenario.react = () => ({});
    await scenario.untilDone();
    expect(scenario.written).toHaveLength(40);
  });
});

describe('a refused key', () => {
  it('is replaced by another of the account', async () => {
    scenario.keys = { old: false, fresh: true };
    scenario.react = (_, attempt) => ({ status: attempt === 1 ? 401 : 200 });
    const row = scenario.store.add('research');
    await scenario.start();
    await scenario.untilDone();
    expect(row.states).toEqual(['queued', 'sending', 'queued', 'sending', 'accepted']);
  });

  it('ends the loop when it was the last one, and what it refused stays queued', async () => {
    scenario.keys = { k: false };
    scenario.react = () => ({ status: 401 });
    const row = scenario.store.add('research');
    const { ended } = await scenario.start();
    await scenario.clock.advance(10_000);
    expect(await ended).toBeInstanceOf(KeyRefused);
    expect(row.state).toBe('queued');
  });

  it('that no ping can be asked about leaves the submission queued', async () => {
    scenario.keys = { k: 'silent' };
    scenario.react = (_, attempt) => ({ status: attempt < 4 ? 403 : 200 });
    const row = scenario.store.add('enrich');
    await scenario.start();
    await scenario.untilDone();
    expect(row.states.filter((state) => state === 'sending')).toHaveLength(4);
  });
});

describe('an outcome that is lost by a defect', () => {
  it.each<[string, (scenario: SubmitterScenario) => void]>([
    [
      'it can’t be stored',
      ({ store }) => {
        store.finish = () => Promise.reject(new RangeError('a defect'));
      },
    ],
    [
      'it can’t be read',
      (scenario) => {
        scenario.react = () => ({ defect: true });
      },
    ],
  ])('is known as unknown in the end, without a restart (%s)', async (_, spoil) => {
    const row = scenario.store.add('list');
    spoil(scenario);
    await scenario.start();
    await scenario.clock.advance(TIMEOUT_MS + 120_000);
    expect(row.states).toEqual(['queued', 'sending', 'unknown']);
    expect(scenario.written).toHaveLength(1);
    expect(scenario.lines[0]).toMatch(/^submissions wait: .*a defect$/);
  });
});

describe('a database in trouble', () => {
  it('stops the queue, and keeps an outcome until it can be stored', async () => {
    scenario.react = () => ({ answerMs: 5_000 });
    scenario.queue(3);
    await scenario.start();
    await scenario.clock.advance(1_000);
    scenario.store.failure = new DatabaseUnavailable('the database is away');
    scenario.ownsUntil = scenario.clock.monotonic() + 15_000;
    await scenario.clock.advance(60_000);
    // A key's first request goes alone; the claims of the others failed.
    expect(scenario.states()).toEqual(['sending', 'queued', 'queued']);
    scenario.store.failure = undefined;
    scenario.ownsUntil = Number.POSITIVE_INFINITY;
    await scenario.untilDone();
    expect(scenario.states()).toEqual(['accepted', 'accepted', 'accepted']);
    expect(scenario.written).toHaveLength(3);
    expect(scenario.lines).toEqual([
      expect.stringMatching(
        /^submissions wait: the outcome of \d+ \(accepted\) is not stored yet: the database is away$/,
      ),
    ]);
  });

  it('makes no known outcome unknown, however long it is away', async () => {
    scenario.react = (_, attempt) => (attempt === 1 ? { connectMs: 4_000, refuse: true } : {});
    const row = scenario.store.add('list');
    await scenario.start();
    await scenario.clock.advance(1_000);
    scenario.store.failure = new DatabaseUnavailable('the database is away');
    // By then an earlier owner's request would be over.
    await scenario.clock.advance(300_000);
    scenario.store.failure = undefined;
    await scenario.untilDone();
    expect(row.states).toEqual(['queued', 'sending', 'queued', 'sending', 'accepted']);
  });

  it('that says the lease is lost ends the loop', async () => {
    scenario.queue(3);
    const running = await scenario.start();
    scenario.store.failure = new LeaseLost('somebody else owns the account');
    await scenario.clock.advance(20_000);
    expect(await running.ended).toBeInstanceOf(LeaseLost);
    expect(scenario.written).toEqual([]);
  });
});
