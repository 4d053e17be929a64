import { expect, it } from 'vitest';
import { coalesced } from './notifications.ts';

it('calls during a run share the next run, which begins after them', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const call = coalesced(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  const first = call();
  await new Promise(setImmediate);
  expect(runs).toHaveLength(1);
  const [second, third] = [call(), call()];
  runs[0]?.resolve();
  await first;
  await new Promise(setImmediate);
  expect(runs).toHaveLength(2);
  runs[1]?.reject(new Error('no'));
  await expect(second).rejects.toThrow('no');
  await expect(third).rejects.toThrow('no');
  // A failure concerns only its own run.
  const fourth = call();
  await new Promise(setImmediate);
  runs[2]?.resolve();
  await fourth;
});
