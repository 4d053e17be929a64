import { describe, expect, it } from 'vitest';
import { RouteLimits } from './route-limits.ts';

const MINUTE = 60_000;

describe('limits by route', () => {
  it('make the smallest one of the last hour the group’s', () => {
    const limits = new RouteLimits();
    limits.observe('/a', 60, 0);
    limits.observe('/b', 20, 10);
    expect(limits.smallest(20)).toBe(20);
    limits.observe('/a', 60, 59 * MINUTE);
    expect(limits.smallest(61 * MINUTE)).toBe(60);
    expect(limits.smallest(120 * MINUTE)).toBeUndefined();
  });

  it('fall at once', () => {
    const limits = new RouteLimits();
    limits.observe('/a', 60, 0);
    expect(limits.observe('/a', 30, 1)).toBe(true);
    expect(limits.of('/a', 1)).toBe(30);
  });

  it('rise only when a full window agrees, and to the least that it showed', () => {
    const limits = new RouteLimits();
    limits.observe('/a', 60, 0);
    limits.observe('/a', 120, 1_000);
    limits.observe('/a', 90, 30_000);
    expect(limits.of('/a', 30_000)).toBe(60);
    limits.observe('/a', 120, 61_000);
    expect(limits.of('/a', 61_000)).toBe(90);
  });

  it('begin to rise anew after a contradiction', () => {
    const limits = new RouteLimits();
    limits.observe('/a', 60, 0);
    limits.observe('/a', 120, 1_000);
    limits.observe('/a', 60, 40_000);
    limits.observe('/a', 120, 50_000);
    limits.observe('/a', 120, 62_000);
    expect(limits.of('/a', 62_000)).toBe(60);
  });
});
