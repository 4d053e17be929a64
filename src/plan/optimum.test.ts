import { expect, it } from 'vitest';
import { optimumOf } from '../../bench/freshness/optimum.ts';
import { planned } from '../../bench/freshness/readers.ts';
import { historyOf, SHAPES } from '../../bench/freshness/shapes.ts';
import { simulate } from '../../bench/freshness/simulate.ts';

const DAY = 24 * 3_600_000;
const RUN = { perMinute: 48, from: DAY, to: 1.5 * DAY, untilMs: 3 * DAY };

/** How long changes wait beside the best plan of somebody who knows every rate, and what is spent. */
function simulated(name: string, asDaemon: boolean) {
  const shape = SHAPES.find((each) => each.name === name);
  if (shape === undefined) throw new Error('the bench has no such shape');
  const reader = planned(shape, asDaemon ? { asDaemon } : {});
  const { meanMs, requestsPerMinute } = simulate(shape, historyOf(shape, 1, RUN.untilMs, 7), reader, RUN);
  return { beside: meanMs / optimumOf(shape, 1, { ...RUN, hintsPerMinute: 0 }), requestsPerMinute };
}

it('the planner, which has to learn, makes changes wait at most a fifth longer than the best plan', () => {
  const { beside } = simulated('a few big collections', false);
  expect(beside).toBeGreaterThan(0.95);
  expect(beside).toBeLessThan(1.2);
});

it.each(['a few big collections', '1,000,000 jobs'])(
  'the daemon spends where much happens nearly all that it has, and nearly as well: %s',
  (name) => {
    expect(simulated(name, true).beside).toBeLessThan(1.25);
  },
);

it('the daemon sends for one in which little happens what its cron lines send, and no request more', () => {
  expect(simulated('quiet', true).requestsPerMinute).toBeLessThan(15.1);
});
