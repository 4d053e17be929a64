import { validate } from 'node-cron';
import { describe, expect, it } from 'vitest';
import { parseCronLine } from './parse-cron.ts';

describe('parseCronLine', () => {
  it.each(['* * * * *', '*/5 * * * *', '0 22-2 * * 5-7', '0 0 * jan-mar fri', '15,45 3 L * *', '@daily', '@hourly'])(
    'takes %s, as node-cron does',
    (line) => {
      expect(parseCronLine(line)).toBe(line);
      expect(validate(line)).toBe(true);
    },
  );

  it('accepts never, spaces and capitals', () => {
    expect(parseCronLine('never')).toBe('never');
    expect(parseCronLine(' @Daily ')).toBe('@daily');
    expect(parseCronLine('0   *  * * *')).toBe('0 * * * *');
  });

  it.each([
    ['61 * * * *', 'minute "61" is not legal: 0-59'],
    ['* 24 * * *', 'hour "24" is not legal: 0-23'],
    ['* * 0 * *', 'day of month "0" is not legal: 1-31'],
    ['* * * 13 *', 'month "13" is not legal: 1-12'],
    ['* * * * 8', 'day of week "8" is not legal: 0-7'],
    ['5/10 * * * *', 'minute "5/10" is not legal'],
    ['*/90 * * * *', 'minute has a step of 90: at most 59'],
    ['0 0 30 2 *', 'never comes'],
    ['* * * *', 'has 4 of the 5 fields'],
    ['0 * * * * *', 'has 6 of the 5 fields'],
    ['@often', '"@often" is no name for a schedule'],
  ])('refuses %s and says where it is wrong and what is legal', (line, message) => {
    expect(() => parseCronLine(line)).toThrow(message);
  });

  it('lists the faults of all fields at once', () => {
    expect(() => parseCronLine('60 24 * * *')).toThrow(/minute "60".*; hour "24"/);
  });
});
