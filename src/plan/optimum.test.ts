import { describe, expect, it } from 'vitest';
import { optimumOf, withLinesKept } from '../../bench/freshness/optimum.ts';
import { planned } from '../../bench/freshness/readers.ts';
import { historyOf, type Shape, type ShapeScope, SHAPES } from '../../bench/freshness/shapes.ts';
import { type Reader, simulate } from '../../bench/freshness/simulate.ts';

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

  it('that keeps the cron lines reads all each minute at least, lists as long as that is half of the rest at most', () => {
    const list = scope(1);
    const many = (lists: number): Shape => ({
      name: 'lines',
      scopes: [{ ...list, kind: 'collection' }, ...Array.from({ length: lists }, () => list)],
    });
    const intervals = (lists: number): number[] =>
      withLinesKept(many(lists), { perMinute: 11 }).scopes.map(({ longestMs }) => longestMs);
    expect(new Set(intervals(5))).toEqual(new Set([60_000]));
    expect(intervals(6)).toEqual([60_000, ...Array.from({ length: 6 }, () => DAY)]);
  });

  it('knows of a storm, and spends on it what it has, or requests that others would have had', () => {
    const storm = { from: HOUR, to: 2 * HOUR, scopes: 1, times: 16 };
    const shape: Shape = { name: 'storm', scopes: [scope(1), scope(1)], storm };
    // Calm: each is read each minute. In the storm 4 of 5 parts go to the first.
    const [calm, stormy] = [30 * 2 * 3, 16 * 18.75 + 75];
    expect(optimumOf(shape, 1, spendable) / 1000).toBeCloseTo((calm + stormy) / (3 * 2 + 17), 3);
    // All four hours at one price: a half of the requests is spent where it saves most.
    const half = optimumOf(shape, 1, { ...spendable, sentPerMinute: 1 });
    const roots = 3 * 2 + 5;
    expect(half / 1000).toBeCloseTo((roots ** 2 * 3600) / (2 * 240) / (3 * 2 + 17), 3);
  });
});

describe('a simulation', () => {
  it('shows scopes that are never read again, and how long their changes wait', () => {
    const shape: Shape = {
      name: 'starving',
      scopes: [1, 1].map((perHour) => ({ kind: 'list', perHour, cost: 1, pages: 0, longestMs: DAY })),
    };
    const run = { perMinute: 1, from: HOUR, to: 2 * HOUR, untilMs: 12 * HOUR };
    const reader: Reader = { next: () => ({ scope: 0, requests: 1 }) };
    const result = simulate(shape, historyOf(shape, 1, run.untilMs, 7), reader, run);
    expect(result.oldest).toBe(12 * HOUR);
    expect(result.requestsPerMinute).toBeCloseTo(1, 6);
    // Half of the changes wait half a minute, the others for 10.5 hours on average at least.
    expect(result.meanMs).toBeCloseTo((30_000 + 10.5 * HOUR) / 2, -3);
  });
});
