import type { Clock } from './clock.ts';

/**
 * `ask` for those who ask often, one at a time: asked anew once the last answer is `freshMs` old. An answer that did not
 * come is asked for again by the next one.
 * @param usableMs who asks waits where the last answer is older than this, and gets that one at once where it is not,
 *   since a new one may take long
 */
export function askedAtMost<T>(
  clock: Pick<Clock, 'monotonic'>,
  ask: () => Promise<T>,
  freshMs: (answer: T) => number,
  usableMs = 0,
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
    if (last !== undefined && age < freshMs(last.value)) return Promise.resolve(last.value);
    underWay ??= askNow();
    if (last === undefined || age > usableMs) return underWay;
    // Whether it failed is told by those who read the database more often.
    underWay.catch(() => {});
    return Promise.resolve(last.value);
  };
}
