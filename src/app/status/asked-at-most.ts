import type { Clock } from '@research-mirror/runtime/clock';

/**
 * `ask` for those who ask often: asked anew once the last answer is `everyMs` old. Who asks then still gets the last
 * answer at once, since the new one may take long. An answer that did not come is asked for again by the next one.
 */
export function askedAtMost<T>(
  everyMs: number,
  clock: Pick<Clock, 'monotonic'>,
  ask: () => Promise<T>,
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
    if (last !== undefined && clock.monotonic() - last.at < everyMs) return Promise.resolve(last.value);
    underWay ??= askNow();
    if (last === undefined) return underWay;
    // Whether it failed is told by those who read the database more often.
    underWay.catch(() => {});
    return Promise.resolve(last.value);
  };
}
