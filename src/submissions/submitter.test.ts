import { beforeEach, describe, expect, it, vi } from 'vitest';
import { SubmitterScenario, TIMEOUT_MS } from '../../test/support/submissions/submitter-scenario.ts';
import { defaultLimit, type RateGroup } from '../service/rate-groups.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import { OPERATION_NAMES } from '../model/submission.ts';
import { BackInQueue, InFlight } from './submitter.ts';

const AWAY = new DatabaseUnavailable('the database is away');
const times = (count: number, state: string): string[] => Array.from({ length: count }, () => state);

let scenario: SubmitterScenario;
beforeEach(() => {
  scenario = new SubmitterScenario();
});

describe('the budget of each operation', () => {
  it('is used whole, and not exceeded: 60 mixed ones take what their limits permit', async () => {
    for (let i = 0; i < 60; i++) scenario.store.add(OPERATION_NAMES[i % OPERATION_NAMES.length] ?? 'research');
    const took = await scenario.run();
    expect(scenario.states()).toEqual(times(60, 'accepted'));
    expect(scenario.refused).toEqual([]);
    expect(scenario.written).toHaveLength(60);
    const groups = Map.groupBy(scenario.written, ({ group }) => group);
    const windows = (group: RateGroup): number => Math.ceil((groups.get(group)?.length ?? 0) / defaultLimit(group)) - 1;
    // 26 requests of a group of 2 a minute: what they permit is 12 whole windows.
    expect(windows('bulk_lists')).toBe(12);
    for (const [group, all] of groups) {
      const last = Math.max(...all.map(({ at }) => at));
      // A window counts from the answer, with a guard of 250 ms.
      expect(last).toBeGreaterThanOrEqual(windows(group) * 60_000);
      expect(last).toBeLessThan(windows(group) * 60_500 + 2_000);
    }
    expect(took).toBeLessThan(12 * 60_500 + 2_000);
  });

  it('is used side by side where answers take long', async () => {
    scenario.react = () => ({ answerMs: 20_000 });
    scenario.queue(40);
    // First contact is 4 at a time until 10 were accepted; one after another they would take 800 s.
    expect(await scenario.run()).toBeLessThan(200_000);
    expect(scenario.refused).toEqual([]);
  });

  it('goes to the oldest of a group first, whatever the operation', async () => {
    for (const operation of ['list', 'bulk_research', 'list_analyze', 'list'] as const) scenario.queue(1, operation);
    await scenario.run();
    expect(scenario.written.map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
  });

  it('is not spent on what was cancelled while it waited', async () => {
    scenario.queue(6, 'list');
    await scenario.runFor(30_000);
    scenario.store.cancel('3');
    scenario.store.cancel('4');
    expect(await scenario.untilDone()).toBeLessThan(62_000);
    expect(scenario.written.map(({ id }) => id)).toEqual(['1', '2', '5', '6']);
    expect(scenario.slotsUsed('bulk_lists')).toBe(2);
  });
});

it('a group has 32 submissions under way at most, and one while nothing can be sent', async () => {
  const inFlight = new InFlight(scenario.clock);
  for (let id = 1; id < 32; id += 1) inFlight.add(String(id));
  expect(inFlight.hasRoom).toBe(true);
  inFlight.add('32');
  expect(inFlight.hasRoom).toBe(false);
  inFlight.ended('1');
  expect(inFlight.hasRoom).toBe(true);
  const failing = new InFlight(scenario.clock);
  failing.failed(1_000);
  await scenario.clock.advance(1_000);
  expect(failing.hasRoom).toBe(true);
  failing.add('1');
  expect(failing.hasRoom).toBe(false);
});

it('a group pauses for the longest of several times, and what waits for a slot goes back, but not what is claimed', async () => {
  const inFlight = new InFlight(scenario.clock);
  const [waits, claimed] = [inFlight.add('1'), inFlight.add('2')];
  inFlight.claimed('2');
  inFlight.pause(5_000);
  inFlight.pause(1_000);
  expect(inFlight.pausedForMs).toBe(5_000);
  expect(waits.reason).toBeInstanceOf(BackInQueue);
  expect(claimed.aborted).toBe(false);
  await scenario.clock.advance(6_000);
  expect(inFlight.pausedForMs).toBe(0);
});

it('a group whose oldest has to wait waits in its order, and does not stop the others', async () => {
  scenario.react = (id, attempt) =>
    id === '1' && attempt === 1 ? { status: 429, headers: { 'retry-after': '90' } } : {};
  scenario.queue(3, 'clay_enrich');
  scenario.queue(3, 'sequence');
  await scenario.runFor(5_000);
  expect(scenario.states()).toEqual([...times(3, 'queued'), ...times(3, 'accepted')]);
  expect(scenario.store.rows[0]?.error).toMatch(/returned 429/);
  await scenario.untilDone();
  const first = scenario.written.find(({ id, status }) => id === '1' && status === 200);
  expect(first?.at).toBeGreaterThan(90_000);
  const clay = scenario.written.find(({ group, at }) => group === 'clay_enrich' && at > 60_000);
  expect(clay?.id).toBe('1');
  expect(scenario.done).toContain('clay_enrich queued');
});

describe('too few credits', () => {
  it('stop the queue, whose rows say why, as the log does once; then it goes on', async () => {
    scenario.creditsTooLow = 'waits: too few';
    scenario.queue(2);
    await scenario.start();
    for (let second = 0; second < 60; second++) {
      await scenario.clock.advance(1_000);
      scenario.bell.ring();
    }
    expect(scenario.written).toEqual([]);
    expect(scenario.lines).toEqual(['submissions: waits: too few']);
    // Rows that were queued meanwhile get the reason, too, but not each second.
    expect(scenario.explained.length).toBeGreaterThan(5);
    expect(scenario.explained.length).toBeLessThan(10);
    scenario.creditsTooLow = undefined;
    scenario.bell.ring();
    await scenario.untilDone();
    expect(scenario.explained.at(-1)).toBe('nothing');
    expect(scenario.lines.slice(1)).toEqual(['submissions continue: the account has enough credits again']);
  });

  it('are taken out of queued rows, where an earlier process wrote them, once there are enough', async () => {
    scenario.queue(3, 'list');
    scenario.explaining = async () => {
      if (scenario.explained.length === 1) throw AWAY;
    };
    await scenario.run();
    expect(scenario.explained).toEqual(['nothing', 'nothing']);
    // The heartbeat tells that it is.
    expect(scenario.lines).toEqual([]);
  });
});

it('MIRROR_SUBMIT=off sends nothing, but recovers what an earlier process left', async () => {
  scenario.enabled = false;
  const [waits, left] = [scenario.store.add('list'), scenario.store.add('list')];
  Object.assign(left, { state: 'sending', sendBefore: 5_000 });
  await scenario.runFor(TIMEOUT_MS + 36_000);
  expect([waits.state, left.state, scenario.written]).toEqual(['queued', 'unknown', []]);
});

it('an outcome that the database does not take for long is stored in the end, and is not made unknown meanwhile', async () => {
  const finish = vi.spyOn(scenario.store, 'finish').mockRejectedValue(AWAY);
  scenario.queue(1);
  await scenario.start();
  await scenario.clock.advance(1_000_000);
  expect([scenario.store.recoveries, scenario.states()]).toEqual([2, ['sending']]);
  finish.mockRestore();
  await scenario.untilDone();
  expect(scenario.states()).toEqual(['accepted']);
});

it('an idle account asks the database for next to nothing', async () => {
  let statements = 0;
  scenario.store.statementMs = () => {
    statements += 1;
    return 1;
  };
  await scenario.runFor(3_600_000);
  expect(scenario.store.recoveries).toBe(4);
  expect(statements).toBeLessThan(70);
});

describe('a service that can’t be reached', () => {
  it('is tried with longer and longer waits, by one submission of a group at a time, and costs no slot and no submission', async () => {
    const attempts: number[] = [];
    scenario.react = () => {
      attempts.push(scenario.clock.monotonic());
      return { refuse: true };
    };
    scenario.queue(5);
    await scenario.runFor(600_000);
    // The first ones went out side by side; then 1, 2, 4 … 60 s pass.
    const gaps = attempts.slice(1).map((at, index) => at - (attempts[index] ?? at));
    const waits = gaps.filter((gap) => gap > 100).map((gap) => Math.round(gap / 1000));
    expect(waits.slice(0, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(scenario.states()).toEqual(times(5, 'queued'));
    expect(scenario.store.rows[0]?.error).toMatch(/refused the connection/);
    expect(scenario.slotsUsed('sequence')).toBe(0);
    expect(scenario.lines).toEqual(['submissions wait: POST /v1/research/t/sequence: refused the connection']);
    scenario.react = () => ({});
    await scenario.untilDone();
    expect(scenario.written.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5']);
    expect(scenario.states()).toEqual(times(5, 'accepted'));
  });

  it('that breaks connections leaves few outcomes unknown, not the whole queue', async () => {
    scenario.react = () => ({ reset: true });
    scenario.queue(40);
    await scenario.runFor(120_000);
    const unknown = scenario.store.rows.filter(({ state }) => state === 'unknown');
    expect(unknown.length).toBeLessThan(12);
    scenario.react = () => ({});
    await scenario.untilDone();
    expect(scenario.written).toHaveLength(40);
  });
});

it('a claimed submission is waited for while the others of its group go back into the queue', async () => {
  scenario.react = (id, attempt) => ({ answerMs: id === '2' ? 30_000 : 1, refuse: id === '3' && attempt === 1 });
  scenario.queue(3);
  await scenario.run();
  expect(scenario.store.rows.map(({ states }) => states.join())).toEqual([
    'queued,sending,accepted',
    'queued,sending,accepted',
    'queued,sending,queued,sending,accepted',
  ]);
  expect(scenario.written.map(({ id }) => id)).toEqual(['1', '2', '3']);
});

describe('a refused key', () => {
  it.each<[string, SubmitterScenario['keys'], number]>([
    ['is replaced by another of the account', { old: false, fresh: true }, 1],
    ['that no ping can be asked about leaves the submission queued', { k: 'silent' }, 3],
  ])('%s', async (_, keys, refusals) => {
    scenario.keys = keys;
    scenario.react = (_id, attempt) => ({ status: attempt <= refusals ? 401 : 200 });
    const row = scenario.store.add('research');
    await scenario.run();
    const tries = [...times(refusals, 'queued'), 'accepted'].flatMap((state) => ['sending', state]);
    expect(row.states).toEqual(['queued', ...tries]);
  });

  it('ends the loop when it was the last one, and what it refused stays queued', async () => {
    scenario.keys = { k: false };
    scenario.react = () => ({ status: 401 });
    const row = scenario.store.add('research');
    const { ended } = await scenario.runFor(10_000);
    expect(await ended).toBeInstanceOf(KeyRefused);
    expect(row.state).toBe('queued');
  });
});

it.each<[string, (scenario: SubmitterScenario) => unknown]>([
  ['it can’t be stored', ({ store }) => (store.finish = () => Promise.reject(new RangeError('a defect')))],
  ['it can’t be read', (scenario) => (scenario.react = () => ({ defect: true }))],
])('an outcome that is lost by a defect is known as unknown in the end, without a restart (%s)', async (_, spoil) => {
  const row = scenario.store.add('list');
  spoil(scenario);
  await scenario.runFor(TIMEOUT_MS + 120_000);
  expect(row.states).toEqual(['queued', 'sending', 'unknown']);
  expect(scenario.written).toHaveLength(1);
  expect(scenario.lines[0]).toMatch(/^submissions wait: .*a defect$/);
});

describe('a database in trouble', () => {
  it('stops the queue, and keeps an outcome until it can be stored', async () => {
    scenario.react = () => ({ answerMs: 5_000 });
    scenario.queue(3);
    await scenario.runFor(1_000);
    scenario.store.failure = AWAY;
    scenario.ownsUntil = scenario.clock.monotonic() + 15_000;
    await scenario.clock.advance(60_000);
    // A key's first request goes alone; the claims of the others failed.
    expect(scenario.states()).toEqual(['sending', 'queued', 'queued']);
    scenario.store.failure = undefined;
    scenario.ownsUntil = Number.POSITIVE_INFINITY;
    await scenario.untilDone();
    expect(scenario.states()).toEqual(times(3, 'accepted'));
    expect(scenario.written).toHaveLength(3);
    const line = 'submissions wait: the outcome of 1 (accepted) is not stored yet: the database can’t be reached';
    expect(scenario.lines).toEqual([line]);
  });

  it('makes no known outcome unknown, however long it is away', async () => {
    scenario.react = (_, attempt) => (attempt === 1 ? { connectMs: 4_000, refuse: true } : {});
    const row = scenario.store.add('list');
    await scenario.runFor(1_000);
    scenario.store.failure = AWAY;
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
