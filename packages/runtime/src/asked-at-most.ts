import type { Clock } from './clock.ts';

/**
 * Shares `ask` among frequent callers, one call at a time; an answer serves for `freshMs`. The next caller asks again
 * after a failure.
 * @param usableMs an answer up to this age is given at once while a new one is fetched
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
    // Those who read the database more often report a failure.
    underWay.catch(() => {});
    return Promise.resolve(last.value);
  };
}
