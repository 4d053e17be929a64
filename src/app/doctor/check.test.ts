import { describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import { Stopped } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { broken, type Check, ok, runChecks } from './check.ts';

const boundMs = 1_000;
const signal = new AbortController().signal;
const fine = { run: () => Promise.resolve(ok('fine')) };
const gone = { run: () => Promise.resolve(broken('it is gone', { remedy: 'put it back' })) };

async function told(checks: readonly Check<unknown>[], clock = systemClock): Promise<string[]> {
  const found = await runChecks(checks, { clock, signal }, boundMs);
  return found.map(({ check, state, found: words }) => `${check} ${state}: ${words}`);
}

describe('checks', () => {
  it('are reported in their order; what rests on a failed one is not looked at, and says which failed', async () => {
    const checks = [
      { name: 'a', ...fine },
      { name: 'b', after: ['a'], ...gone },
      { name: 'c', after: ['a', 'b'], ...fine },
      { name: 'd', after: ['c'], ...fine },
      { name: 'e', after: ['a'], ...fine },
    ];
    expect(await told(checks)).toEqual([
      'a ok: fine',
      'b broken: it is gone',
      'c unknown: not looked at: b failed',
      'd unknown: not looked at: b failed',
      'e ok: fine',
    ]);
  });

  it('may find several things, or nothing', async () => {
    const several = { name: 'a', run: () => Promise.resolve([ok('one'), ok('two')]) };
    const nothing = { name: 'b', run: () => Promise.resolve([]) };
    expect(await told([several, nothing, { name: 'c', after: ['b'], ...fine }])).toEqual([
      'a ok: one',
      'a ok: two',
      'c ok: fine',
    ]);
  });

  it('end when their time is over', async () => {
    const clock = new VirtualClock();
    const never = { name: 'b', run: () => new Promise<never>(() => {}) };
    const running = told([{ name: 'a', ...fine }, never, { name: 'c', after: ['b'], ...fine }], clock);
    await clock.advance(boundMs);
    expect(await running).toEqual([
      'a ok: fine',
      'b unknown: no answer within 1 s',
      'c unknown: not looked at: b failed',
    ]);
  });

  it('say an error, and throw an interruption', async () => {
    const failing = { name: 'a', run: () => Promise.reject(new Error('odd')) };
    const refused = { name: 'b', run: () => Promise.reject(new Unusable('mend it')) };
    expect(await told([failing, refused])).toEqual(['a unknown: odd', 'b broken: mend it']);
    const interrupt = new AbortController();
    const never = { name: 'a', run: () => new Promise<never>(() => {}) };
    const running = runChecks([never], { clock: systemClock, signal: interrupt.signal }, boundMs);
    interrupt.abort(new Stopped('research-mirror'));
    await expect(running).rejects.toBeInstanceOf(Stopped);
  });
});
