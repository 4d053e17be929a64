import { formatCount } from '@research-mirror/runtime/figures';
import type { html } from 'hono/html';

/** How numbers and moments are shown on the page. Pure; every moment is ISO 8601. */

/** Escaped HTML, as the tag `html` makes it; a promise where a part of it is one. */
export type Html = ReturnType<typeof html>;

/** 1234567 → `1,234,567`. */
export const count = formatCount;

/** Per second: `0`, `0.3`, `12`, `1,234`. */
export function rate(amount: number, seconds: number): string {
  if (amount === 0 || seconds <= 0) return '0';
  const value = amount / seconds;
  return value < 10 ? String(Number(value.toFixed(1))) : count(Math.round(value));
}

const UNITS: readonly [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** A duration in its largest fitting unit: `4 s`, `3 min`, `2 h`, `5 d`. */
export function span(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ['s', 1];
  return `${count(Math.floor(seconds / size))} ${unit}`;
}

/** A moment as seen at `at`: `4 s ago`, `in 3 min`, `now`. */
export function relative(moment: string, at: string): string {
  const difference = Date.parse(at) - Date.parse(moment);
  if (Math.abs(difference) < 1000) return 'now';
  return difference > 0 ? `${span(difference)} ago` : `in ${span(-difference)}`;
}

/** A moment in UTC, to the second; without the date on the day of `at`. */
export function absolute(moment: string, at: string): string {
  const [date = '', time = ''] = new Date(moment).toISOString().split('T');
  const clock = `${time.slice(0, 8)} UTC`;
  return new Date(at).toISOString().startsWith(date) ? clock : `${date} ${clock}`;
}
