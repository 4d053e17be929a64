import { describe, expect, it } from 'vitest';
import { readSandboxOptions } from './read-options.ts';
import { flagOf, SANDBOX_SWITCHES, SWITCH_NAMES } from './sandbox-switches.ts';

describe('the options of a sandbox', () => {
  it('have a default for every switch', () => {
    expect(readSandboxOptions({})).toMatchObject({
      options: { jobs: 1000, order: 'falling', limitOther: 60 },
    });
  });

  it('accept every default and every choice as the text of a command line', () => {
    const wrong = SWITCH_NAMES.flatMap((name) => {
      const { choices, default: fallback } = SANDBOX_SWITCHES[name];
      return (choices ?? [fallback]).filter((value) => {
        const reading = readSandboxOptions({ [name]: String(value) });
        return !('options' in reading) || reading.options[name] !== value;
      });
    });
    expect(wrong).toEqual([]);
  });

  it('list every problem at once, by the name of the switch', () => {
    const reading = readSandboxOptions({
      jobs: '-1',
      order: 'sideways',
      faultReset: '1.5',
      limitOther: '0',
      keys: 'no owner',
      epoch: 'yesterday',
      hostileKinds: 'nul,werewolf',
      newJobsPerMinute: 'many',
      colour: 'red',
    });
    expect(reading).toEqual({
      problems: [
        'jobs: must be a whole number from 0 to 50000000, but is "-1"',
        'order: must be one of falling, rising, created, last-updated, score, unordered, but is "sideways"',
        'fault-reset: must be a number from 0 to 1, but is "1.5"',
        'limit-other: must be a whole number from 1 to 1000000, or off, but is "0"',
        'keys: must be key=user_id,…, but is "no owner"',
        'epoch: must be an ISO 8601 time or start, but is "yesterday"',
        expect.stringContaining('hostile-kinds: must be some of nul,'),
        'new-jobs-per-minute: must be a number from 0 to 1000000, but is "many"',
        'colour: unknown switch',
      ],
    });
  });

  it.each([
    [{ latencyMin: 5, latencyMax: 4 }, 'latency-min'],
    [{ port: 9000, controlPort: 9000 }, 'control-port'],
    [{ fault500: 0.6, faultReset: 0.6 }, 'add up to 1.2'],
  ])('name the switches that contradict each other: %o', (given, words) => {
    expect(readSandboxOptions(given)).toMatchObject({ problems: [expect.stringContaining(words)] });
  });

  it('of a running sandbox change only where they are live, and keep the others', () => {
    const base = readSandboxOptions({ jobs: 5, order: 'rising' });
    if (!('options' in base)) throw new Error('legal options');
    const changed = readSandboxOptions({ order: 'score' }, base.options);
    expect(changed).toEqual({ options: { ...base.options, order: 'score' } });
    const problems = ["jobs: can't be changed while the sandbox runs"];
    expect(readSandboxOptions({ jobs: 6 }, base.options)).toEqual({ problems });
  });

  it('have flags that a command line can tell apart', () => {
    const flags = SWITCH_NAMES.map(flagOf);
    expect(new Set(flags).size).toBe(flags.length);
    expect(flags).toEqual(expect.arrayContaining(['new-jobs-per-minute', 'fault-500']));
    expect(flags.filter((flag) => !/^[a-z]+(-[a-z0-9]+)*$/.test(flag))).toEqual([]);
  });
});
