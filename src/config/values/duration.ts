import { InvalidValue } from '../invalid.ts';

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** A hundred years. A longer duration is a slip of the keyboard, and dates would overflow. */
const LONGEST_MS = 36_525 * 86_400_000;

/**
 * Milliseconds of a duration such as `60s`, `1.5h` or `400d`.
 * @throws InvalidValue for anything else, and where it is shorter than `least` (milliseconds)
 */
export function parseDuration(text: string, least: number): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text);
  if (match === null) {
    throw new InvalidValue(
      `${JSON.stringify(text)} is no duration: a number and a unit, such as 60s, 15m, 12h or 400d`,
    );
  }
  const ms = Math.round(Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN));
  if (ms < least)
    throw new InvalidValue(`${JSON.stringify(text)} is too short: at least ${formatDuration(least)}`);
  if (!(ms <= LONGEST_MS)) throw new InvalidValue(`${JSON.stringify(text)} is too long: at most 36525d`);
  return ms;
}

/** The shortest exact spelling: `90s`, `2h`. */
export function formatDuration(ms: number): string {
  const unit = ['d', 'h', 'm', 's'].find((name) => ms !== 0 && ms % (UNITS[name] ?? 1) === 0) ?? 'ms';
  return `${ms / (UNITS[unit] ?? 1)}${unit}`;
}
