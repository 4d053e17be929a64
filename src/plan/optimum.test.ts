import { describe, expect, it } from 'vitest';
import { optimumOf } from '../../bench/freshness/optimum.ts';
import { planned } from '../../bench/freshness/readers.ts';
import { historyOf, type Shape, type ShapeScope, SHAPES } from '../../bench/freshness/shapes.ts';
import { simulate } from '../../bench/freshness/simulate.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('the planner, which has to learn', () => {
  it('makes changes wait at most a fifth longer than the best plan of somebody who knows every rate', () => {
    const shape = SHAPES.find(({ name }) => name === 'a few big collections');
    if (shape === undefined) throw new Error('the bench has no such shape');
    const run = { perMinute: 48, from: DAY, to: 1.5 * DAY, untilMs: 3 * DAY };
    const { meanMs } = simulate(shape, historyOf(shape, 1, run.untilMs, 7), planned(shape, {}), run);
    const best = optimumOf(shape, 1, { ...run, hintsPerMinute: 0 });
    expect(meanMs / best).toBeGreaterThan(0.95);
    expect(meanMs / best).toBeLessThan(1.2);
  });
});

describe('the daemon', () => {
  const run = { perMinute: 48, from: DAY, to: 1.5 * DAY, untilMs: 3 * DAY };
  const simulated = (name: string): { beside: number; requestsPerMinute: number } => {
    const shape = SHAPES.find((each) => each.name === name);
    if (shape === undefined) throw new Error('the bench has no such shape');
    const reader = planned(shape, { asDaemon: true });
    const { meanMs, requestsPerMinute } = simulate(shape, historyOf(shape, 1, run.untilMs, 7), reader, run);
    return { beside: meanMs / optimumOf(shape, 1, { ...run, hintsPerMinute: 0 }), requestsPerMinute };
  };

  it('spends on an account in which much happens nearly all that it has, and nearly as well', () => {
    expect(simulated('a few big collections').beside).toBeLessThan(1.25);
    expect(simulated('1,000,000 jobs').beside).toBeLessThan(1.25);
  });

  it('sends for one in which little happens what its cron lines send, and no request more', () => {
    expect(simulated('quiet').requestsPerMinute).toBeLessThan(15.1);
  });
});

describe('the best plan', () => {
  const scope = (perHour: number): ShapeScope => ({
    kind: 'list',
    perHour,
    cost: 1,
    pages: 0,
    longestMs: DAY,
  });
  const spendable = { perMinute: 2, hintsPerMinute: 0, from: 0, to: 4 * HOUR };

  it('reads what changes four times as often twice as often, and waits twice as long with half the requests', () => {
    const shape: Shape = { name: 'two', scopes: [scope(4), scope(1)] };
    // Of 3 parts of the requests 2 go to the first: intervals of 45 and 90 s, half of which changes wait.
    const best = optimumOf(shape, 1, spendable);
    expect(best / 1000).toBeCloseTo((4 * 22.5 + 45) / 5, 3);
    expect(optimumOf(shape, 1, { ...spendable, sentPerMinute: 1 }) / best).toBeCloseTo(2, 4);
  });
});
