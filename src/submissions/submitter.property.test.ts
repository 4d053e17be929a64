import fc from 'fast-check';
import { expect, it } from 'vitest';
import { seeded } from '../../test/support/random.ts';
import { type Reaction, SubmitterScenario } from '../../test/support/submissions/submitter-scenario.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { OPERATION_NAMES } from '../model/submission.ts';
import { runs } from '../../test/support/effort.ts';

/** What networks and services do to a request; the plain answer most of all. */
const reaction: fc.Arbitrary<Reaction> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ answerMs: fc.constantFrom(20, 500, 9_000) }) },
  { weight: 1, arbitrary: fc.record({ refuse: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ reset: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ connectMs: fc.constantFrom(4_900, 5_100, 9_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({ status: fc.constantFrom(202, 302, 400, 402, 408, 429, 500, 503) }),
  },
);

const game = fc.record({
  seed: fc.integer({ min: 0, max: 1_000_000 }),
  count: fc.integer({ min: 1, max: 12 }),
  reactions: fc.array(reaction, { minLength: 1, maxLength: 10 }),
  /** Milliseconds between two deaths of the process, and whether it is stopped or killed. */
  deaths: fc.array(fc.record({ after: fc.integer({ min: 1, max: 20_000 }), how: fc.constantFrom('stop', 'kill') }), {
    maxLength: 6,
  }),
  statementMs: fc.constantFrom(1, 40, 1_300),
  failing: fc.constantFrom(0, 0.1),
  cancels: fc.constantFrom(0, 0.05),
});

it('a submission, whatever happens is sent at most once, in time, within the limits, and ends in a state that is true', async () => {
  await fc.assert(
    fc.asyncProperty(game, async ({ seed, count, reactions, deaths, statementMs, failing, cancels }) => {
      const random = seeded(seed);
      const scenario = new SubmitterScenario();
      const { store, clock } = scenario;
      const react = new Map<string, Reaction>();
      scenario.react = (id, attempt) => {
        // In the end every service works.
        if (attempt > 5) return {};
        const known = react.get(`${id}/${attempt}`) ?? reactions[Math.floor(random() * reactions.length)] ?? {};
        react.set(`${id}/${attempt}`, known);
        return known;
      };
      store.statementMs = () => {
        store.failure = random() < failing ? new DatabaseUnavailable('away') : undefined;
        if (random() < cancels) store.cancel(String(1 + Math.floor(random() * count)));
        return random() * statementMs;
      };
      for (let i = 0; i < count; i++) {
        store.add(OPERATION_NAMES[Math.floor(random() * OPERATION_NAMES.length)] ?? 'list');
      }
      for (const { after, how } of deaths) {
        const running = await scenario.start();
        await clock.advance(after);
        if (how === 'kill') running.kill();
        else running.stop();
        if (how === 'stop') await clock.runUntil(running.ended);
        await clock.advance(500);
      }
      const last = await scenario.start();
      await scenario.untilDone(7_200_000);
      last.stop();

      expect(scenario.refused).toEqual([]);
      expect(scenario.written.filter(({ late }) => late)).toEqual([]);
      for (const row of store.rows) {
        const written = scenario.written.filter(({ id }) => id === row.id);
        // Whatever was not refused with a 429 may have taken effect: nothing follows it.
        expect(written.slice(0, -1).map(({ status }) => status ?? 'none')).toEqual(written.slice(0, -1).map(() => 429));
        const status = written.at(-1)?.status;
        if (row.state === 'accepted') expect([200, 202]).toContain(status);
        if (row.state === 'rejected') expect([400, 402]).toContain(status);
        if (row.state === 'cancelled') expect([undefined, 429]).toContain(status);
        expect(row.state).toMatch(/^(accepted|rejected|unknown|cancelled)$/);
      }
    }),
    { numRuns: runs(30, 150) },
  );
});
