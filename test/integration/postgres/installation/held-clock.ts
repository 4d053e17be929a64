import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';

/** A clock whose one sleeper sleeps until the test calls `next`, which returns at its next sleep. `waits` are in ms. */
export function heldClock() {
  const waits: number[] = [];
  let wake = (): void => {};
  const asleep = (times: number): Promise<unknown> =>
    eventually(`sleep ${times}`, () => waits.length >= times, 120_000, 2);
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        waits.push(ms);
        wake = resolve;
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  };
  const next = async (): Promise<void> => {
    const times = waits.length + 1;
    wake();
    await asleep(times);
  };
  return { clock, waits, asleep: () => asleep(1), next };
}
