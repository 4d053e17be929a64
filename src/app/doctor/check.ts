import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import type { Context } from './context.ts';

/**
 * - `ok`: as it should be, or not in use
 * - `warning`: works, and could be better
 * - `broken`: keeps the mirror from its work
 * - `unknown`: could not be found out
 */
export type CheckState = 'ok' | 'warning' | 'broken' | 'unknown';

/** What a check found, in one line without secrets, and what mends it; null: nothing, or `found` has it. */
export interface CheckFinding {
  readonly state: CheckState;
  readonly found: string;
  /** What to do, in words. */
  readonly remedy: string | null;
  /** What to type into a shell. */
  readonly command: string | null;
  /** What to run in psql on the mirror's database, as a user who may. */
  readonly sql: string | null;
}

export interface NamedFinding extends CheckFinding {
  readonly check: string;
}

const finding =
  (state: CheckState) =>
  (found: string, mend: Partial<CheckFinding> = {}): CheckFinding => {
    return { state, found, remedy: null, command: null, sql: null, ...mend };
  };
export const ok = finding('ok');
export const warning = finding('warning');
export const broken = finding('broken');
export const unknown = finding('unknown');

/** One finding for each thing that a check looked at; none where there is nothing to look at. */
export type Findings = CheckFinding | readonly CheckFinding[];

/** One thing to look at. */
export interface Check<C = Context> {
  /** The same in every version: `rights`. */
  readonly name: string;
  /** Names of earlier checks; where one of them fails, this one is not looked at. */
  readonly after?: readonly string[];
  /** @throws Unusable: it is broken, and the message has the remedy; anything else: it could not be found out */
  readonly run: (context: C) => Promise<Findings>;
}

/**
 * Runs checks side by side; each waits for those that it rests on.
 * @param boundMs milliseconds for all of them; what is not found out by then is `unknown`
 * @returns their findings, in the checks' order
 * @throws the reason of the context's signal, which also ends the wait for `boundMs`
 */
export async function runChecks<C extends Pick<Context, 'clock' | 'signal'>>(
  checks: readonly Check<C>[],
  context: C,
  boundMs: number,
): Promise<readonly NamedFinding[]> {
  const late = context.clock.sleep(boundMs, context.signal).then(
    () => unknown(`no answer within ${boundMs / 1000} s`),
    () => unknown('interrupted'),
  );
  const thrown = (error: unknown): CheckFinding =>
    (error instanceof Unusable ? broken : unknown)(messageOf(error));
  const looks = new Map<string, Promise<readonly NamedFinding[]>>();
  /** Of a check that failed, or was not looked at: the one that failed. */
  const failed = new Map<string, string>();
  const look = async ({ name, after = [], run }: Check<C>): Promise<readonly NamedFinding[]> => {
    await Promise.all(after.flatMap((each) => looks.get(each) ?? []));
    const [cause] = after.flatMap((each) => failed.get(each) ?? []);
    const told =
      cause === undefined
        ? await Promise.race([run(context).catch(thrown), late])
        : unknown(`not looked at: ${cause} failed`);
    const findings = [told].flat();
    if (findings.some(({ state }) => state === 'broken' || state === 'unknown'))
      failed.set(name, cause ?? name);
    return findings.map((each) => ({ check: name, ...each }));
  };
  for (const check of checks) looks.set(check.name, look(check));
  const found = (await Promise.all(looks.values())).flat();
  context.signal.throwIfAborted();
  return found;
}
