import { systemClock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import { Stopped } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { expect, it } from 'vitest';
import { broken, type Check, clockSkew, judgeVersion, LOOKED_UP, ok, runChecks, unknown } from './check.ts';
import fc from 'fast-check';
import { runs } from '../../test/support/effort.ts';
import { judgeClock, keyPlaces } from './check-service.ts';
import { describeChecks } from './doctor.ts';

const boundMs = 1_000;
type Run = Check<unknown>['run'];

const FINE: Run = async () => ok('fine');
const GONE: Run = async () => broken('it is gone', { remedy: 'put it back' });
const HANGING: Run = () => new Promise<never>(() => {});
const ODD: Run = () => Promise.reject(new Error('odd'));
const REFUSED: Run = () => Promise.reject(new Unusable('mend it'));
const check = (name: string, run: Run, ...after: string[]): Check<unknown> => ({ name, after, run });

it.each<[string, Check<unknown>[], string[]]>([
  [
    'are reported in their order; one that depends on a failed one is skipped, and names it',
    [check('a', FINE), check('b', GONE, 'a'), check('c', FINE, 'a', 'b'), check('d', FINE, 'c')],
    ['a ok: fine', 'b broken: it is gone', 'c unknown: skipped: b failed', 'd unknown: skipped: b failed'],
  ],
  [
    'may have several findings, or none',
    [check('a', async () => [ok('one'), ok('two')]), check('b', async () => []), check('c', FINE, 'b')],
    ['a ok: one', 'a ok: two', 'c ok: fine'],
  ],
  [
    'end when their time is over',
    [check('a', FINE), check('b', HANGING), check('c', FINE, 'b')],
    ['a ok: fine', 'b unknown: no answer within 1 s', 'c unknown: skipped: b failed'],
  ],
  ['say an error', [check('a', ODD), check('b', REFUSED)], ['a unknown: odd', 'b broken: mend it']],
])('checks %s', async (_, checks, told) => {
  const clock = new VirtualClock();
  const running = runChecks(checks, { clock, signal: new AbortController().signal }, boundMs);
  await clock.advance(boundMs);
  expect((await running).map((each) => `${each.check} ${each.state}: ${each.found}`)).toEqual(told);
});

it('checks throw an interruption', async () => {
  const interrupt = new AbortController();
  const running = runChecks([check('a', HANGING)], { clock: systemClock, signal: interrupt.signal }, boundMs);
  interrupt.abort(new Stopped('research-mirror'));
  await expect(running).rejects.toBeInstanceOf(Stopped);
});

it('the skew of a clock never exceeds the true difference, whatever the network and the resolution do', () => {
  const time = fc.integer({ min: 0, max: 60_000 });
  fc.assert(
    fc.property(fc.integer({ min: -1e7, max: 1e7 }), time, time, (ahead, there, back) => {
      const askedAt = 1_790_000_000_000;
      const said = Math.floor((askedAt + there + ahead) / 1_000) * 1_000;
      const skew = clockSkew(said, 1_000, askedAt, askedAt + there + back);
      expect(Math.abs(skew)).toBeLessThanOrEqual(Math.abs(ahead));
      if (skew !== 0) expect(Math.sign(skew)).toBe(Math.sign(ahead));
      if (Math.abs(ahead) > there + back + 1_000) expect(skew).not.toBe(0);
    }),
    { numRuns: runs(200, 5_000) },
  );
});

it('the skew of a clock is a warning from five seconds on', () => {
  const judged = [4_999, 5_000, -90_000].map((ms) => judgeClock('its clock', ms));
  expect(judged.map(({ state }) => state)).toEqual(['ok', 'warning', 'warning']);
  const [, ahead, behind] = judged.map(({ found }) => found);
  expect(ahead).toBe("its clock is 5 s ahead of this machine's");
  expect(behind).toBe("its clock is 90 s behind this machine's");
});

it.each([
  ['the key in MIRROR_API_KEY', 1, [{ at: 0 }]],
  ['the 13th key in MIRROR_API_KEY', 20, [{ at: 12 }]],
  ['the 1st, 3rd and 13th key in MIRROR_API_KEY', 20, [{ at: 0 }, { at: 2 }, { at: 12 }]],
])('a key is named by its place: %s', (words, all, keys) => {
  expect(keyPlaces(keys, all)).toBe(words);
});

it.each([
  ['Node', '24.21.0', 'warning', ' lacks the security fixes of 24.22.1 (2026-10-21), 24.22.3 (2026-11-11)'],
  ['Node', '24.22.3', 'ok', 'of 2026-11-11; no later security release known'],
  ['Node', '24.100.0', 'ok', '; no later security release known'],
  ['Node', '25.9.0', 'warning', ' no longer gets security fixes'],
  ['Node', '27.0.0', 'ok', '; no later security release known'],
  ['PostgreSQL', '18.4', 'warning', 'of 2026-05-14 lacks the security fixes of 18.6 (2026-08-13), 18.7 (2026-11-12)'],
  ['PostgreSQL', '18.10', 'ok', '; no later security release known'],
  ['PostgreSQL', '15.20', 'ok', 'of 2026-11-12; no later security release known'],
  ['PostgreSQL', '19.1', 'warning', ': 15 to 18 are tested, this one is not'],
  ['PostgreSQL', '19beta1', 'warning', ': 15 to 18 are tested, this one is not'],
] as const)('doctor judges %s %s: %s', (runtime, version, state, words) => {
  const { state: judged, found, remedy } = judgeVersion(runtime, version, 'update it');
  expect([judged, found]).toEqual([
    state,
    expect.stringContaining(`${runtime} ${version}${words.startsWith('of') ? ' ' : ''}${words}`),
  ]);
  expect(remedy).toBe(/fixes/.test(words) ? 'update it' : null);
  if (state === 'ok') expect(found).toContain(LOOKED_UP);
});

it('doctor prints a line for each finding, with what to type, and their counts', () => {
  const text = describeChecks([
    { check: 'network', ...ok('api answers') },
    { check: 'rights', ...broken('it may not', { remedy: 'as a DBA', sql: 'grant all;' }) },
    { check: 'data_folder', ...broken('in use', { command: 'export MIRROR_DATA_DIR=a' }) },
    { check: 'disk', ...unknown('a\nb') },
  ]);
  expect(text).toBe(
    `ok       network      api answers
broken   rights       it may not → as a DBA: psql> grant all;
broken   data_folder  in use → $ export MIRROR_DATA_DIR=a
unknown  disk         a\\nb
2 broken, 1 unknown
`,
  );
  expect(describeChecks([{ check: 'network', ...ok('api answers') }])).toBe(
    'ok       network  api answers\nall fine\n',
  );
});
