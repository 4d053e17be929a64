import { describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { runGroup, shellWord } from './check.ts';

const group = { checks: ['a', 'b', 'c'], boundMs: 1_000 };
const never = new Promise<never>(() => {});
const signal = new AbortController().signal;

describe('a group of checks', () => {
  it('reports each of its checks, in its order; after a broken one, those that need it are not found out', async () => {
    const found = await runGroup(group, { clock: systemClock, signal }, (report) => {
      report('b', 'broken', 'it is gone', { remedy: 'put it back' });
      report('a', 'ok', 'fine');
      return Promise.resolve();
    });
    expect(found.map(({ check, state, found: words }) => [check, state, words])).toEqual([
      ['a', 'ok', 'fine'],
      ['b', 'broken', 'it is gone'],
      ['c', 'unknown', 'not looked at, because of b'],
    ]);
  });

  it('ends when its time is over, and takes nothing that comes later', async () => {
    const clock = new VirtualClock();
    let late = (): void => {};
    const running = runGroup(group, { clock, signal }, async (report, signal) => {
      report('a', 'ok', 'fine');
      late = () => report('b', 'ok', 'late');
      signal.addEventListener('abort', () => late());
      await never;
    });
    await clock.advance(1_000);
    expect((await running).map(({ state, found }) => `${state}: ${found}`)).toEqual([
      'ok: fine',
      'unknown: no answer within 1 s',
      'unknown: no answer within 1 s',
    ]);
  });

  it('says an error of the work, and throws an interruption', async () => {
    const failing = await runGroup(group, { clock: systemClock, signal }, () =>
      Promise.reject(new Error('odd')),
    );
    expect(failing.map(({ found }) => found)).toEqual(['odd', 'odd', 'odd']);
    const interrupt = new AbortController();
    let closed = false;
    const broken = runGroup(group, { clock: systemClock, signal: interrupt.signal }, async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      closed = true;
    });
    interrupt.abort(new Stopped('research-mirror'));
    await expect(broken).rejects.toBeInstanceOf(Stopped);
    expect(closed).toBe(true);
  });
});

it('writes words of a shell so that it takes them as they are', () => {
  expect(shellWord('/srv/data')).toBe('/srv/data');
  expect(shellWord("it's $HOME")).toBe(`'it'\\''s $HOME'`);
});
