import { EVENT_MS, type Shape } from './shapes.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What a reader had to spend in the measured time, from `from` to `to` (ms). */
export interface Spendable {
  /** Requests that the account has. */
  readonly perMinute: number;
  /** Of these, readings for events. */
  readonly hintsPerMinute: number;
  readonly from: number;
  readonly to: number;
}

/** A time in which each scope changes at a steady rate. */
interface Phase {
  readonly ms: number;
  /** By scope, changes a millisecond. */
  readonly rates: readonly number[];
  /** Requests a millisecond that are left for polls at most. */
  readonly most: number;
}

/**
 * The least mean delay (ms) that so many requests allow where every rate is known, and when it changes: the minimum
 * of Σ q·λᵢ·τᵢ/2 under Σ kᵢ/τᵢ = requests and τᵢ ≤ longestᵢ. By Lagrange, τᵢ = min(longestᵢ, √(2μkᵢ/(q·λᵢ))), with the
 * one μ that spends the requests: before, in and after a storm another one. Less the daily walk of the biggest
 * collection, and less what hints took.
 * @param unannounced share q of the changes that have no event; the others wait for their event and half a request
 */
export function optimumOf(shape: Shape, unannounced: number, spendable: Spendable): number {
  const { scopes } = shape;
  const phases = phasesOf(shape, spendable);
  const q = Math.max(unannounced, 1e-9);
  const intervalAt = (price: number, rate: number, scope: number): number => {
    const { cost, longestMs } = scopes[scope] as Shape['scopes'][number];
    return Math.min(longestMs, Math.sqrt((2 * price * cost) / (q * rate)));
  };
  const spentAt = (price: number, { rates }: Phase): number =>
    rates.reduce((sum, rate, scope) => sum + (scopes[scope]?.cost ?? 1) / intervalAt(price, rate, scope), 0);
  let delays = 0;
  let changes = 0;
  phases.forEach((phase) => {
    const { ms, rates } = phase;
    const price = leastPrice((each) => spentAt(each, phase) <= phase.most);
    rates.forEach((rate, scope) => {
      delays += (ms * rate * intervalAt(price, rate, scope)) / 2;
      changes += ms * rate;
    });
  });
  const announcedMs = EVENT_MS + 60_000 / spendable.perMinute / 2;
  return (unannounced * delays) / changes + (1 - unannounced) * announcedMs;
}

/** The least price at which it is enough, by bisection. */
function leastPrice(isEnough: (price: number) => boolean): number {
  let [low, high] = [1e-9, 1e18];
  if (isEnough(low)) return 0;
  for (let step = 0; step < 100; step += 1) {
    const middle = Math.sqrt(low * high);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Requests a millisecond of the daily walk. */
function walkOf({ scopes }: Shape): number {
  return Math.max(...scopes.map(({ pages }) => pages)) / DAY;
}

/** Before a storm, in it, and after it; hints come as the changes do. */
function phasesOf(shape: Shape, { perMinute, hintsPerMinute, from, to }: Spendable): Phase[] {
  const { scopes, storm } = shape;
  const bounds = storm === undefined ? [from, to] : [from, storm.from, Math.min(storm.to, to), to];
  const phases = bounds.slice(1).map((end, index) => {
    const isStorm = storm !== undefined && index === 1;
    const rates = scopes.map(({ perHour }, scope) =>
      isStorm && scope < storm.scopes ? (perHour * storm.times) / HOUR : perHour / HOUR,
    );
    return { ms: end - (bounds[index] ?? 0), rates, total: rates.reduce((sum, rate) => sum + rate, 0) };
  });
  const changes = phases.reduce((sum, { ms, total }) => sum + ms * total, 0);
  return phases.map(({ ms, rates, total }) => {
    const hints = ((hintsPerMinute / 60_000) * (to - from) * total) / changes;
    return { ms, rates, most: Math.max(0, perMinute / 60_000 - walkOf(shape) - hints) };
  });
}
