import { formatCount } from '@research-mirror/runtime/figures';

/** How numbers and moments are shown on the page. Pure; every moment is ISO 8601. */

/** 1234567 → `1,234,567`. */
export const count = formatCount;

/** A moment in UTC, to the second; without the date on the day of `at`. */
export function absolute(moment: string, at: string): string {
  const [date = '', time = ''] = new Date(moment).toISOString().split('T');
  const clock = `${time.slice(0, 8)} UTC`;
  return new Date(at).toISOString().startsWith(date) ? clock : `${date} ${clock}`;
}
