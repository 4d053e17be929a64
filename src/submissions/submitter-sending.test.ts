import { beforeEach, describe, expect, it } from 'vitest';
import { SubmitterScenario, TIMEOUT_MS } from '../../test/support/submissions/submitter-scenario.ts';
import { Mutex } from '@research-mirror/runtime/mutex';
import { Stopped } from '@research-mirror/runtime/service';

let scenario: SubmitterScenario;
beforeEach(() => {
  scenario = new SubmitterScenario();
});

describe('the moment of writing', () => {
  // Only its wall clock shows that a machine was suspended.
  it.each([
    ['though the wall clock is set back', 6_000, 1_000, -3_600_000],
    ['nor after the machine was suspended', 1_000, 500, 3_600_000],
  ])(
    'is no later than the claim allows, %s: what is late goes back, and is sent once',
    async (_, connectMs, at, jump) => {
      scenario.react = (_id, attempt) => ({ connectMs: attempt === 1 ? connectMs : 5 });
      const row = scenario.store.add('research');
      await scenario.runFor(at);
      expect(row.state).toBe('sending');
      scenario.clock.jumpWall(jump);
      await scenario.untilDone();
      expect(row.states).toEqual(['queued', 'sending', 'queued', 'sending', 'accepted']);
      expect(scenario.written).toHaveLength(1);
    },
  );

  it('is not waited away: of many that may go at once, each is claimed in its turn', async () => {
    // Claims of an account wait for each other in Postgres.
    const inPostgres = new Mutex();
    const claim = scenario.store.claim.bind(scenario.store);
    scenario.store.claim = (id) =>
      inPostgres.run(async () => {
        await scenario.clock.sleep(900);
        return claim(id);
      });
    scenario.queue(20);
    // The first are few at a time; the other ten would all be asked for at once.
    expect(await scenario.run()).toBeLessThan(30_000);
    expect(scenario.lines).toEqual([]);
    expect(scenario.done).toEqual(Array.from({ length: 20 }, () => 'sequence accepted'));
  });

  it('is no later than the heartbeat allows, and nothing is claimed without one', async () => {
    scenario.ownsUntil = 1_000;
    scenario.react = () => ({ connectMs: 2_000 });
    const row = scenario.store.add('research');
    await scenario.runFor(30_000);
    expect(row.states).toEqual(['queued', 'sending', 'queued']);
    expect(scenario.written).toEqual([]);
    scenario.ownsUntil = Number.POSITIVE_INFINITY;
    await scenario.untilDone();
    expect(scenario.written).toHaveLength(1);
  });
});

it('a heartbeat that ends while a submission waits for its slot leaves it unclaimed until there is one again', async () => {
  scenario.ownsUntil = 30_000;
  scenario.queue(3, 'list');
  await scenario.runFor(70_000);
  expect(scenario.store.rows[2]?.states).toEqual(['queued']);
  expect(scenario.slotsUsed('bulk_lists')).toBe(0);
  scenario.ownsUntil = Number.POSITIVE_INFINITY;
  await scenario.untilDone();
  expect(scenario.written).toHaveLength(3);
});

describe('a stop', () => {
  it('lets what is on the wire be answered, and claims nothing more', async () => {
    scenario.react = () => ({ answerMs: 3_000 });
    scenario.queue(12, 'list');
    const running = await scenario.runFor(1_000);
    running.stop();
    expect(await scenario.clock.runUntil(running.ended)).toBeInstanceOf(Stopped);
    expect(scenario.states().filter((state) => state === 'accepted')).toHaveLength(scenario.written.length);
    expect(scenario.states()).not.toContain('sending');
    const before = [...scenario.written];
    await scenario.clock.advance(600_000);
    expect(scenario.written).toEqual(before);
  });

  it('waits for a claim that is being committed, and lets nothing be claimed or sent after that', async () => {
    const row = scenario.store.add('list');
    scenario.store.statementMs = () => 500;
    const running = await scenario.start();
    // Two statements look into the queue; the third is the claim.
    await scenario.clock.advance(1_200);
    expect(row.state).toBe('queued');
    running.stop();
    await scenario.clock.runUntil(running.ended);
    await scenario.clock.advance(600_000);
    expect(row.states).toEqual(['queued', 'sending', 'queued']);
    expect(scenario.written).toEqual([]);
  });

  it('leaves an unanswered submission as sending; the next owner makes it unknown and never sends it', async () => {
    scenario.react = () => ({ answerMs: 100_000 });
    const row = scenario.store.add('list');
    const running = await scenario.runFor(1_000);
    const stoppedAt = scenario.clock.monotonic();
    running.stop();
    await scenario.clock.runUntil(running.ended);
    expect(scenario.clock.monotonic() - stoppedAt).toBeLessThan(6_000);
    expect(row.state).toBe('sending');
    await scenario.run();
    expect(row.states).toEqual(['queued', 'sending', 'unknown']);
    expect(scenario.clock.monotonic()).toBeGreaterThan(row.sendBefore + TIMEOUT_MS + 30_000);
    expect(scenario.written).toHaveLength(1);
  });
});
