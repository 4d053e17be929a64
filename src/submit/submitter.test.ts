import { beforeEach, describe, expect, it } from 'vitest';
import { SubmitterScenario, TIMEOUT_MS } from '../../test/support/submissions/submitter-scenario.ts';
import { defaultLimit, type RateGroup } from '../budget/rate-groups.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { OPERATION_NAMES } from '../model/submission.ts';

let scenario: SubmitterScenario;
beforeEach(() => {
  scenario = new SubmitterScenario();
});

describe('the budget of each operation', () => {
  it('is used whole, and not exceeded: 60 mixed ones take what their limits permit', async () => {
    for (let i = 0; i < 60; i++)
      scenario.store.add(OPERATION_NAMES[i % OPERATION_NAMES.length] ?? 'research');
    await scenario.start();
    const took = await scenario.untilDone();
    expect(scenario.states()).toEqual(Array.from({ length: 60 }, () => 'accepted'));
    expect(scenario.refused).toEqual([]);
    expect(scenario.written).toHaveLength(60);
    const groups = Map.groupBy(scenario.written, ({ group }) => group);
    const windows = (group: RateGroup): number =>
      Math.ceil((groups.get(group)?.length ?? 0) / defaultLimit(group)) - 1;
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
    await scenario.start();
    // First contact is 4 at a time until 10 were accepted; one after another they would take 800 s.
    expect(await scenario.untilDone()).toBeLessThan(200_000);
    expect(scenario.refused).toEqual([]);
  });

  it('goes to the oldest of a group first, whatever the operation', async () => {
    for (const operation of ['list', 'bulk_research', 'list_analyze', 'list'] as const)
      scenario.queue(1, operation);
    await scenario.start();
    await scenario.untilDone();
    expect(scenario.written.map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
  });

  it('is not spent on what was cancelled while it waited', async () => {
    scenario.queue(6, 'list');
    await scenario.start();
    await scenario.clock.advance(30_000);
    scenario.store.cancel('3');
    scenario.store.cancel('4');
    expect(await scenario.untilDone()).toBeLessThan(62_000);
    expect(scenario.written.map(({ id }) => id)).toEqual(['1', '2', '5', '6']);
    expect(scenario.slotsUsed('bulk_lists')).toBe(2);
  });
});

describe('a group whose oldest has to wait', () => {
  it('waits in its order, and does not stop the others', async () => {
    scenario.react = (id, attempt) =>
      id === '1' && attempt === 1 ? { status: 429, headers: { 'retry-after': '90' } } : {};
    scenario.queue(3, 'clay_enrich');
    scenario.queue(3, 'sequence');
    await scenario.start();
    await scenario.clock.advance(5_000);
    expect(scenario.states().slice(3)).toEqual(['accepted', 'accepted', 'accepted']);
    expect(scenario.store.rows[0]).toMatchObject({
      state: 'queued',
      error: expect.stringMatching(/answered 429/),
    });
    await scenario.untilDone();
    const first = scenario.written.find(({ id, status }) => id === '1' && status === 200);
    expect(first?.at).toBeGreaterThan(90_000);
    const clay = scenario.written.find(({ group, at }) => group === 'clay_enrich' && at > 60_000);
    expect(clay?.id).toBe('1');
    expect(scenario.done).toContain('clay_enrich queued');
  });
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
    expect(scenario.lines).toEqual([
      'submissions: waits: too few',
      'submissions go on: there are credits again',
    ]);
  });

  it('are taken out of queued rows, where an earlier process wrote them, once there are enough', async () => {
    scenario.queue(3, 'list');
    scenario.explaining = () =>
      scenario.explained.length === 1
        ? Promise.reject(new DatabaseUnavailable('the database is away'))
        : Promise.resolve();
    await scenario.start();
    await scenario.untilDone();
    expect(scenario.explained).toEqual(['nothing', 'nothing']);
    // The heartbeat tells that it is.
    expect(scenario.lines).toEqual([]);
  });
});

describe('MIRROR_SUBMIT=off', () => {
  it('sends nothing, but recovers what an earlier process left', async () => {
    scenario.enabled = false;
    const [waits, left] = [scenario.store.add('list'), scenario.store.add('list')];
    left.state = 'sending';
    left.sendBefore = 5_000;
    await scenario.start();
    await scenario.clock.advance(TIMEOUT_MS + 36_000);
    expect([waits.state, left.state, scenario.written]).toEqual(['queued', 'unknown', []]);
  });
});

describe('an idle account', () => {
  it('asks the database for next to nothing', async () => {
    let statements = 0;
    scenario.store.statementMs = () => {
      statements += 1;
      return 1;
    };
    await scenario.start();
    await scenario.clock.advance(3_600_000);
    expect(scenario.store.recoveries).toBe(4);
    expect(statements).toBeLessThan(70);
  });
});
