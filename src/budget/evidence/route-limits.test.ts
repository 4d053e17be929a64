import { expect, it } from 'vitest';
import { RouteLimits } from './route-limits.ts';

/** Of the route `/a`, after these observations of its limit: `[value, moment]`. */
function limitOfA(...seen: [limit: number, at: number][]): number | undefined {
  const limits = new RouteLimits();
  for (const [limit, at] of seen) limits.observe('/a', limit, at);
  return limits.of('/a', seen.at(-1)?.[1] ?? 0);
}

it('limits by route make the smallest one of the last hour the group’s', () => {
  const MINUTE = 60_000;
  const limits = new RouteLimits();
  limits.observe('/a', 60, 0);
  limits.observe('/b', 20, 10);
  expect(limits.smallest(20)).toBe(20);
  limits.observe('/a', 60, 59 * MINUTE);
  expect(limits.smallest(61 * MINUTE)).toBe(60);
  expect(limits.smallest(120 * MINUTE)).toBeUndefined();
});

it('a route’s limit falls at once, which is told', () => {
  expect(limitOfA([60, 0], [30, 1])).toBe(30);
  const limits = new RouteLimits();
  limits.observe('/a', 60, 0);
  expect(limits.observe('/a', 30, 1)).toBe(true);
});

it('a route’s limit rises only when a full window agrees, to the least that it showed, and anew after a contradiction', () => {
  expect(limitOfA([60, 0], [120, 1_000], [90, 30_000])).toBe(60);
  expect(limitOfA([60, 0], [120, 1_000], [90, 30_000], [120, 61_000])).toBe(90);
  expect(limitOfA([60, 0], [120, 1_000], [60, 40_000], [120, 50_000], [120, 62_000])).toBe(60);
});
