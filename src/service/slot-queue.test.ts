import { beforeEach, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { PRIORITY } from './rate-groups.ts';
import { SlotQueue } from './budget.ts';

let queue: SlotQueue;
let stop: AbortController;
beforeEach(() => {
  queue = new SlotQueue(new VirtualClock());
  stop = new AbortController();
});

it('a task leaves the queue at once when its wait is aborted, and is never started', async () => {
  let started = false;
  const start = async (): Promise<void> => void (started = true);
  const waits = queue.add(start, PRIORITY.SUBMISSION, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waits).rejects.toThrow('stopped');
  expect([queue.waiting, queue.highWaits]).toEqual([0, false]);
  queue.startOne();
  expect(started).toBe(false);
});

it('a task is waited for once it has begun, whatever it does about an abort, and gives its own error', async () => {
  for (const fails of [false, true]) {
    const work = Promise.withResolvers<string>();
    const settled: string[] = [];
    const task = queue.add(() => work.promise, PRIORITY.POLL, stop.signal);
    task.finally(() => settled.push('task')).catch(() => {});
    queue.startOne();
    stop.abort(new Error('stopped'));
    await new Promise(setImmediate);
    expect(settled).toEqual([]);
    if (fails) work.reject(new Error('its own'));
    else work.resolve('done');
    if (fails) await expect(task).rejects.toThrow('its own');
    else expect(await task).toBe('done');
    stop = new AbortController();
  }
});
