import { describe, expect, it } from 'vitest';
import { PRIORITY } from './priorities.ts';
import { SlotQueue } from './endpoint-group.ts';

describe('a task in the queue of slots', () => {
  it('leaves it at once when its wait is aborted, and is never started', async () => {
    const queue = new SlotQueue();
    const stop = new AbortController();
    let started = false;
    const waits = queue.add(
      async () => {
        started = true;
      },
      PRIORITY.SUBMISSION,
      stop.signal,
    );
    stop.abort(new Error('stopped'));
    await expect(waits).rejects.toThrow('stopped');
    expect(queue.waiting).toBe(0);
    expect(queue.highWaits).toBe(false);
    queue.startOne();
    expect(started).toBe(false);
  });

  it('is waited for once it has begun, whatever it does about an abort', async () => {
    const queue = new SlotQueue();
    const stop = new AbortController();
    const work = Promise.withResolvers<string>();
    const settled: string[] = [];
    const task = queue.add(() => work.promise, PRIORITY.POLL, stop.signal);
    void task.then(() => settled.push('task'));
    queue.startOne();
    stop.abort(new Error('stopped'));
    await new Promise(setImmediate);
    expect(settled).toEqual([]);
    work.resolve('done');
    expect(await task).toBe('done');
  });

  it('gives its own error when it fails after an abort', async () => {
    const queue = new SlotQueue();
    const stop = new AbortController();
    const work = Promise.withResolvers<string>();
    const task = queue.add(() => work.promise, PRIORITY.POLL, stop.signal);
    queue.startOne();
    stop.abort(new Error('stopped'));
    work.reject(new Error('its own'));
    await expect(task).rejects.toThrow('its own');
  });
});
