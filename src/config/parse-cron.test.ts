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
    ['61 * * * *', 'minute "61" is not valid: use 0-59'],
    ['* 24 * * *', 'hour "24" is not valid: use 0-23'],
    ['* * 0 * *', 'day of month "0" is not valid: use 1-31'],
    ['* * * 13 *', 'month "13" is not valid: use 1-12'],
    ['* * * * 8', 'day of week "8" is not valid: use 0-7'],
    ['5/10 * * * *', 'minute "5/10" is not valid: use'],
    ['*/90 * * * *', 'minute has a step of 90: the maximum is 59'],
    ['0 0 30 2 *', 'never occurs'],
    ['* * * *', 'has 4 fields instead of 5'],
    ['0 * * * * *', 'has 6 fields instead of 5'],
    ['@often', '"@often" is not a known schedule'],
  ])('refuses %s and says where it is wrong and what is legal', (line, message) => {
    expect(() => parseCronLine(line)).toThrow(message);
  });

  it('lists the faults of all fields at once', () => {
    expect(() => parseCronLine('60 24 * * *')).toThrow(/minute "60".*; hour "24"/);
  });
});
