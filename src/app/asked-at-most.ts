import type { Clock } from '@research-mirror/runtime/clock';

/**
 * `ask` for those who ask often: asked anew once the last answer is `everyMs` old. Who asks then still gets the last
 * answer at once, since the new one may take long. An answer that did not come is asked for again by the next one.
 * @param tooOldMs who asks waits where the last answer is older than this: nobody has asked for long
 */
export function askedAtMost<T>(
  everyMs: number,
  clock: Pick<Clock, 'monotonic'>,
  ask: () => Promise<T>,
  tooOldMs: number = Number.POSITIVE_INFINITY,
): () => Promise<T> {
  let last: { readonly value: T; readonly at: number } | undefined;
  let underWay: Promise<T> | undefined;
  const askNow = async (): Promise<T> => {
    const at = clock.monotonic();
    try {
      const value = await ask();
      last = { value, at };
      return value;
    } finally {
      underWay = undefined;
    }
  };
  return () => {
    const age = last === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - last.at;
    if (last !== undefined && age < everyMs) return Promise.resolve(last.value);
    underWay ??= askNow();
    if (last === undefined || age > tooOldMs) return underWay;
    // Whether it failed is told by those who read the database more often.
    underWay.catch(() => {});
    return Promise.resolve(last.value);
  };
}
