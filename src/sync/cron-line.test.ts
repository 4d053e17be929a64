import fc from 'fast-check';
import { createTask } from 'node-cron';
import { expect, it } from 'vitest';
import { CronLine } from './schedule.ts';

const next = (line: string, after: string): string | undefined =>
  new CronLine(line).next(new Date(after))?.toISOString();

it.each([
  ['* * * * *', '2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z'],
  ['* * * * *', '2026-01-01T00:00:59.999Z', '2026-01-01T00:01:00.000Z'],
  ['@daily', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ['@hourly', '2025-12-31T23:59:59.000Z', '2026-01-01T00:00:00.000Z'],
  ['30 22-2 * * *', '2026-01-01T02:30:00.000Z', '2026-01-01T22:30:00.000Z'],
  ['15,45 3 L * *', '2026-01-31T03:15:00.000Z', '2026-01-31T03:45:00.000Z'],
  ['15,45 3 L * *', '2026-01-31T03:45:00.000Z', '2026-02-28T03:15:00.000Z'],
  ['0 0 * * sun', '2026-01-01T00:00:00.000Z', '2026-01-04T00:00:00.000Z'],
  ['0 0 * * fri#2', '2026-01-01T00:00:00.000Z', '2026-01-09T00:00:00.000Z'],
  ['0 0 29 2 *', '2026-01-01T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
  ['0 0 29 2 1', '2026-01-01T00:00:00.000Z', '2044-02-29T00:00:00.000Z'],
])('cron line %s runs next after %s', (line, after, expected) => {
  expect(next(line, after)).toBe(expected);
});

it('a cron line runs next in the first later minute that node-cron matches', () => {
  const field = (least: number, most: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.constant('*'),
      fc.constantFrom('*/7', '*/2'),
      fc.integer({ min: least, max: most }).map(String),
    );
  const line = fc
    .tuple(
      field(0, 59),
      field(0, 23),
      fc.constantFrom('*', '*', '1', 'L', '10-20', '31'),
      fc.constantFrom('*', 'mon', '0', '7', '5-7'),
    )
    .map(([minute, hour, day, weekday]) => `${minute} ${hour} ${day} * ${weekday}`);
  fc.assert(
    fc.property(line, fc.integer({ min: 0, max: 86_400 * 365 }), (expression, seconds) => {
      const after = Date.UTC(2026, 0, 1) + seconds * 1000;
      const found = new CronLine(expression).next(new Date(after))?.getTime() ?? Number.POSITIVE_INFINITY;
      const task = createTask(expression, () => {}, { timezone: 'UTC' });
      expect(found).toBeGreaterThan(after);
      expect(task.match(new Date(found))).toBe(true);
      // The minutes before it, as many as can be checked quickly.
      const first = Math.floor(after / 60_000) * 60_000 + 60_000;
      for (let minute = first; minute < found && minute < first + 40 * 60_000; minute += 60_000) {
        expect(task.match(new Date(minute))).toBe(false);
      }
    }),
    { numRuns: 60 },
  );
});
