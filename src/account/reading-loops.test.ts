import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import { EMPTY_OUTCOME, type ReadOutcome } from '../sync/walk-result.ts';
import { type ReadingLoops, readingLoops } from './reading-loops.ts';

function loopsOf() {
  const clock = new VirtualClock();
  const failures: string[] = [];
  const loops = readingLoops({
    clock,
    random: () => 1,
    starts: undefined,
    onOutcome: () => {},
    onFailure: (what, error) => failures.push(`${what}: ${error.message}`),
  });
  const add = (what: string, read: (signal: AbortSignal) => Promise<ReadOutcome>) => loops.add(what, 30_000, read);
  const stop = new AbortController();
  const run = (beside: Parameters<ReadingLoops['run']>[1] = []) => loops.run(stop.signal, beside);
  return { clock, failures, add, run, stop };
}

/** A loop whose readings end when they are told to. */
function slowLoop(add: ReturnType<typeof loopsOf>['add']) {
  const open: (() => void)[] = [];
  const loop = add('slow', async () => {
    await new Promise<void>((resolve) => open.push(resolve));
    return EMPTY_OUTCOME;
  });
  return { loop, open };
}

describe('reading loops', () => {
  it('read once for all rings of a moment, and once more for those that came while they read', async () => {
    const { clock, add, run, stop } = loopsOf();
    const { loop, open } = slowLoop(add);
    const running = run();
    loop.ring();
    loop.ring();
    await clock.advance(0);
    expect(open).toHaveLength(1);
    loop.ring();
    loop.ring();
    await clock.advance(0);
    expect(open).toHaveLength(1);
    open[0]?.();
    await clock.advance(0);
    expect(open).toHaveLength(2);
    expect(loop.rung).toBe(false);
    open[1]?.();
    await clock.advance(0);
    expect(loop.state).toBe('rests');
    stop.abort(new Error('over'));
    await expect(running).rejects.toThrow('over');
  });

  it('lose no ring at any turn of the event loop', async () => {
    for (let turns = 0; turns < 20; turns += 1) {
      const { clock, add, run, stop } = loopsOf();
      let reads = 0;
      const loop = add('quick', async () => {
        reads += 1;
        return EMPTY_OUTCOME;
      });
      const running = run();
      loop.ring();
      for (let i = 0; i < turns; i += 1) await Promise.resolve();
      const before = reads;
      loop.ring();
      await clock.advance(0);
      expect({ turns, answered: reads > before, reads: reads <= 2 }).toEqual({
        turns,
        answered: true,
        reads: true,
      });
      stop.abort(new Error('over'));
      await expect(running).rejects.toThrow('over');
    }
  });

  it('remember rings from before they ran, and from while they did not', async () => {
    const { clock, add, run, stop } = loopsOf();
    const { loop, open } = slowLoop(add);
    loop.ring();
    await clock.advance(0);
    expect(open).toHaveLength(0);
    const running = run();
    await clock.advance(0);
    expect(open).toHaveLength(1);
    loop.ring();
    stop.abort(new Error('over'));
    open[0]?.();
    await expect(running).rejects.toThrow('over');
    expect([open.length, loop.rung, loop.state]).toEqual([1, true, 'rests']);
  });

  it.each([new LeaseLost('another has it'), new KeyRefused('no', 401)])(
    'end together when one can not go on: %s',
    async (cause) => {
      const { clock, failures, add, run } = loopsOf();
      const ends: string[] = [];
      const loop = add('first', () => Promise.reject(cause));
      const other = add('other', async (signal) => {
        await clock.sleep(60_000, signal).finally(() => ends.push('other'));
        return EMPTY_OUTCOME;
      });
      const running = run([
        async (signal) => {
          await clock.sleep(60_000, signal).finally(() => ends.push('beside'));
          throw new Error('not reached');
        },
      ]);
      other.ring();
      await clock.advance(0);
      loop.ring();
      await expect(running).rejects.toBe(cause);
      expect(ends.toSorted()).toEqual(['beside', 'other']);
      expect(failures).toEqual([]);
    },
  );

  it('retry a failure with growing delays, in which the loop waits and delays no other', async () => {
    const { clock, failures, add, run, stop } = loopsOf();
    let broken = true;
    const loop = add('poll', () => (broken ? Promise.reject(new Error('no route')) : Promise.resolve(EMPTY_OUTCOME)));
    const { loop: other, open } = slowLoop(add);
    const running = run();
    loop.ring();
    await clock.advance(0);
    expect([loop.state, loop.rung]).toEqual(['waits', false]);
    other.ring();
    await clock.advance(1_999);
    expect([open.length, failures.length]).toEqual([1, 1]);
    await clock.advance(1);
    expect(failures.length).toBe(2);
    broken = false;
    await clock.advance(3_999);
    expect(loop.state).toBe('waits');
    await clock.advance(1);
    expect([loop.state, failures]).toEqual(['rests', ['poll: no route', 'poll: no route']]);
    open[0]?.();
    stop.abort(new Error('over'));
    await expect(running).rejects.toThrow('over');
  });
});
