import { formatSpan } from '@research-mirror/runtime/figures';

/** Of a clock that goes otherwise than this machine's; milliseconds of wall clocks. */
export interface OtherClock {
  /** What it said; its true time was up to `resolutionMs` more. */
  readonly said: number;
  readonly resolutionMs: number;
  readonly askedAt: number;
  readonly answeredAt: number;
}

/** What is less may come from the network. */
const TOLERANCE_MS = 5_000;

/**
 * By how much another clock is certainly ahead of ours (positive) or behind it, in milliseconds; 0 where both may be
 * the same: its answer was true at some time between question and answer (Cristian 1989).
 */
export function clockSkew({ said, resolutionMs, askedAt, answeredAt }: OtherClock): number {
  const least = said - answeredAt;
  const most = said + resolutionMs - askedAt;
  if (least > 0) return least;
  return most < 0 ? most : 0;
}

/** What it means for people; undefined: it is of no concern. @param whose `the service's clock` */
export function describeSkew(whose: string, skew: number): string | undefined {
  if (Math.abs(skew) < TOLERANCE_MS) return undefined;
  return `${whose} is ${formatSpan(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} this machine's`;
}

/** For either clock. */
export const CLOCK_REMEDY =
  'let NTP set this machine’s clock (timedatectl set-ntp true); where it is right, tell whoever runs the other machine';
