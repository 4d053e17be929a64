import { describe, expect, it } from 'vitest';
import { optimumOf } from '../../bench/freshness/optimum.ts';
import { planned } from '../../bench/freshness/readers.ts';
import { historyOf, SHAPES } from '../../bench/freshness/shapes.ts';
import { simulate } from '../../bench/freshness/simulate.ts';

const DAY = 86_400_000;

describe('the planner, which has to learn', () => {
  it('makes changes wait at most a fifth longer than the best plan of somebody who knows every rate', () => {
    const shape = SHAPES.find(({ name }) => name === 'a few big collections');
    if (shape === undefined) throw new Error('the bench has no such shape');
    const run = { perMinute: 48, from: DAY, to: 1.5 * DAY, untilMs: 3 * DAY };
    const { meanMs } = simulate(shape, historyOf(shape, 1, run.untilMs, 7), planned(shape, {}), run);
    const best = optimumOf(shape, 1, run.perMinute, 0, run.to).meanMs;
    expect(meanMs / best).toBeGreaterThan(0.95);
    expect(meanMs / best).toBeLessThan(1.2);
  });
});
