import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import type { Draw } from '../support/draw.ts';

type FaultName = Extract<keyof SandboxOptions, `fault${string}`>;

/** What may become of a POST whether it took effect or not: nobody can tell from the answer. */
const UNTOLD = [
  'fault500',
  'fault503',
  'fault408',
  'fault425',
  'faultReset',
  'faultTruncated',
  'faultSlow',
  'faultDrip',
  'faultRedirect',
] as const satisfies readonly FaultName[];

/** Those by which a service that tells the truth says that it has not done it. */
const REFUSALS = [
  'fault402',
  'fault409',
  'faultKey',
  'faultResetEarly',
] as const satisfies readonly FaultName[];

/** Answers of 2xx that are no JSON, or say of an error: of an operation that was carried out. */
const ODD_ANSWERS = ['faultHtml', 'faultGarbage', 'faultError200'] as const satisfies readonly FaultName[];

const NO_FAULTS = Object.fromEntries(
  [...UNTOLD, ...REFUSALS, ...ODD_ANSWERS].map((name) => [name, 0]),
) as Partial<SandboxOptions>;

/** Everything is answered, and as it is. */
export const ALL_WELL: Partial<SandboxOptions> = { ...NO_FAULTS, latencyMin: 1, latencyMax: 25 };

/** What happens to POST requests for a while. */
export function drawFaults(draw: Draw): {
  readonly switches: Partial<SandboxOptions>;
  readonly what: string;
} {
  const kind = draw.weighted({ none: 2, untold: 5, refusals: 2, odd: 1 });
  const share = draw.one([0.1, 0.3, 0.6]);
  const names =
    kind === 'none' ? [] : kind === 'untold' ? UNTOLD : kind === 'refusals' ? REFUSALS : ODD_ANSWERS;
  const first = draw.one<FaultName>(names);
  const second = draw.one<FaultName>(names);
  const faultEffect = kind === 'odd' || (kind === 'untold' && draw.chance(0.5)) ? 'done' : 'undone';
  const chosen = [...new Set([first, second])].filter((name) => name !== undefined);
  const switches: Partial<SandboxOptions> = {
    ...NO_FAULTS,
    ...Object.fromEntries(chosen.map((name) => [name, share / chosen.length])),
    faultRoutes: 'posts',
    faultEffect,
    slowMs: draw.integer(200, 3_000),
    latencyMin: 1,
    latencyMax: draw.one([5, 60, 400]),
  };
  return { switches, what: `${chosen.join(' and ') || 'no faults'} (${faultEffect}, ${share})` };
}
