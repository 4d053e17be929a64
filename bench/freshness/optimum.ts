import { EVENT_MS, type Shape } from './shapes.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export interface Optimum {
  /** Mean delay (ms) of all changes. */
  readonly meanMs: number;
  /** By scope, how often (ms) it is read. */
  readonly intervals: readonly number[];
}

/**
 * The least mean delay that so many requests allow where every rate is known: the minimum of Σ q·λᵢ·τᵢ/2 under
 * Σ kᵢ/τᵢ = requests and τᵢ ≤ longestᵢ. By Lagrange, τᵢ = min(longestᵢ, √(2μkᵢ/(q·λᵢ))), with the one μ that spends
 * the requests. Less the daily walk of the biggest collection, and less what hints took.
 * @param unannounced share q of the changes that have no event; the others wait for their event and half a request
 */
export function optimumOf(
  { scopes }: Shape,
  unannounced: number,
  perMinute: number,
  hintReadings: number,
  hintedMs: number,
): Optimum {
  const walk = Math.max(...scopes.map(({ pages }) => pages));
  const spendable = perMinute / 60_000 - walk / DAY - hintReadings / hintedMs;
  const rates = scopes.map(({ perHour }) => perHour / HOUR);
  const intervalsAt = (price: number): number[] =>
    scopes.map(({ cost, longestMs }, index) =>
      Math.min(
        longestMs,
        Math.sqrt((2 * price * cost) / (Math.max(unannounced, 1e-9) * (rates[index] ?? 0))),
      ),
    );
  const spentAt = (price: number): number =>
    intervalsAt(price).reduce((sum, interval, index) => sum + (scopes[index]?.cost ?? 1) / interval, 0);
  let [low, high] = [1e-9, 1e18];
  for (let step = 0; step < 200; step += 1) {
    const middle = Math.sqrt(low * high);
    if (spentAt(middle) > spendable) low = middle;
    else high = middle;
  }
  const intervals = intervalsAt(high);
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  const polled =
    intervals.reduce((sum, interval, index) => sum + ((rates[index] ?? 0) * interval) / 2, 0) / total;
  const announcedMs = EVENT_MS + 60_000 / perMinute / 2;
  return { meanMs: unannounced * polled + (1 - unannounced) * announcedMs, intervals };
}
