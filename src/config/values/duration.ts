import { refuse } from '../invalid.ts';

const UNITS = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** A hundred years. A longer duration is a slip of the keyboard, and dates would overflow. */
const LONGEST_MS = 36_525 * UNITS.d;

/**
 * Milliseconds of a duration such as `60s`, `1.5h` or `400d`.
 * @throws InvalidValue for anything else, and where it is shorter than `least` (milliseconds)
 */
export function parseDuration(text: string, least: number): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text);
  if (match === null) refuse(text, 'is no duration: a number and a unit, such as 60s, 15m, 12h or 400d');
  const ms = Math.round(Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]);
  if (ms < least) refuse(text, `is too short: at least ${formatDuration(least)}`);
  return ms <= LONGEST_MS ? ms : refuse(text, 'is too long: at most 36525d');
}

/** The shortest exact spelling: `90s`, `2h`. */
export function formatDuration(ms: number): string {
  const [unit, size] = Object.entries(UNITS).find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}
