import { systemClock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import { Stopped } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { expect, it } from 'vitest';
import { broken, type Check, ok, runChecks } from './check.ts';

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
    [
      check('a', FINE),
      check('b', GONE, 'a'),
      check('c', FINE, 'a', 'b'),
      check('d', FINE, 'c'),
      check('e', FINE, 'a'),
    ],
    [
      'a ok: fine',
      'b broken: it is gone',
      'c unknown: not looked at: b failed',
      'd unknown: not looked at: b failed',
      'e ok: fine',
    ],
  ],
  [
    'may have several findings, or none',
    [check('a', async () => [ok('one'), ok('two')]), check('b', async () => []), check('c', FINE, 'b')],
    ['a ok: one', 'a ok: two', 'c ok: fine'],
  ],
  [
    'end when their time is over',
    [check('a', FINE), check('b', HANGING), check('c', FINE, 'b')],
    ['a ok: fine', 'b unknown: no answer within 1 s', 'c unknown: not looked at: b failed'],
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
