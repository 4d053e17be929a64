import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';

/**
 * - `ok`: as it should be, or not in use
 * - `warning`: works, and could be better
 * - `broken`: keeps the mirror from its work
 * - `unknown`: could not be found out
 */
export type CheckState = 'ok' | 'warning' | 'broken' | 'unknown';

/** What a check found: one line, without secrets. */
export interface CheckFinding extends Mend {
  readonly state: CheckState;
  readonly found: string;
}

/** What mends it; null: nothing, or `found` has it. */
interface Mend {
  /** What to do, in words. */
  readonly remedy: string | null;
  /** What to type into a shell; variables that it exports may go to `.env` instead. */
  readonly command: string | null;
  /** What to run in psql on the mirror's database, as a user who may. Passwords are psql's variables. */
  readonly sql: string | null;
}

const finding =
  (state: CheckState) =>
  (found: string, { remedy = null, command = null, sql = null }: Partial<Mend> = {}): CheckFinding => ({
    state,
    found,
    remedy,
    command,
    sql,
  });
export const ok = finding('ok');
export const warning = finding('warning');
export const broken = finding('broken');
export const unknown = finding('unknown');

export type Findings = CheckFinding | readonly CheckFinding[];

/** One thing to look at. */
export interface Check<C> {
  /** The same in every version: `rights`. */
  readonly name: string;
  /** Names of earlier checks; where one of them fails, this one is not looked at. */
  readonly after?: readonly string[];
  /** @returns one finding for each thing that it looked at; none where there is nothing to look at */
  readonly run: (context: C) => Promise<Findings>;
}

/** A finding, and the check that found it. */
export interface NamedFinding extends CheckFinding {
  readonly check: string;
}

export interface CheckBounds {
  readonly clock: Clock;
  /** Aborted when the user interrupts the program. */
  readonly signal: AbortSignal;
  /** Milliseconds for all checks; what is not found out by then is `unknown`. */
  readonly boundMs: number;
}

/**
 * Runs checks side by side; each waits for those that it rests on.
 * @returns their findings, in the checks' order
 * @throws the signal's reason
 */
export async function runChecks<C>(
  checks: readonly Check<C>[],
  context: C,
  { clock, signal, boundMs }: CheckBounds,
): Promise<readonly NamedFinding[]> {
  const ended = new AbortController();
  const late = clock.sleep(boundMs, AbortSignal.any([signal, ended.signal])).then(
    () => unknown(`no answer within ${boundMs / 1000} s`),
    () => unknown('interrupted'),
  );
  const outcomes = new Map<string, Promise<Outcome>>();
  const outcomeOf = async ({ name, after = [], run }: Check<C>): Promise<Outcome> => {
    for (const each of after) {
      const failed = (await outcomes.get(each))?.failed;
      if (failed !== undefined) return { failed, findings: [unknown(`not looked at: ${failed} failed`)] };
    }
    const running = run(context).catch((error: unknown) => unknown(messageOf(error)));
    const findings = [await Promise.race([running, late])].flat();
    const fails = findings.some(({ state }) => state === 'broken' || state === 'unknown');
    return { failed: fails ? name : undefined, findings };
  };
  for (const check of checks) outcomes.set(check.name, outcomeOf(check));
  const found: NamedFinding[] = [];
  for (const [check, outcome] of outcomes)
    found.push(...(await outcome).findings.map((each) => ({ check, ...each })));
  signal.throwIfAborted();
  ended.abort();
  return found;
}

interface Outcome {
  readonly findings: readonly CheckFinding[];
  /** The check whose failure it is: this one, or one that it rests on. */
  readonly failed: string | undefined;
}

/** Text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
