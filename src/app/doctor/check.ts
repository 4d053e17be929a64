import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';

/**
 * - `ok`: as it should be, or not in use
 * - `warning`: works, and could be better
 * - `broken`: keeps the mirror from its work
 * - `unknown`: could not be found out
 */
export type CheckState = 'ok' | 'warning' | 'broken' | 'unknown';

/** One thing that was looked at, with what to do about it. */
export interface Check {
  /** Its name, the same in every version: `rights`. Of some there are several, such as one for each refused key. */
  readonly check: string;
  readonly state: CheckState;
  /** What was found, and why it is so: one line, without secrets. */
  readonly found: string;
  /** What to do, in words; null: nothing, or `found` has it. */
  readonly remedy: string | null;
  /** What to type into a shell; variables that it exports may go to `.env` instead. */
  readonly command: string | null;
  /** What to run in psql on the mirror's database, by somebody who may. Passwords are psql's variables. */
  readonly sql: string | null;
}

/** What mends it. */
export interface Mend {
  readonly remedy?: string;
  readonly command?: string;
  readonly sql?: string;
}

export function checked(check: string, state: CheckState, found: string, mend: Mend = {}): Check {
  const { remedy = null, command = null, sql = null } = mend;
  return { check, state, found, remedy, command, sql };
}

/** Takes what a group of checks finds, as soon as it is found. */
export type Report = (check: string, state: CheckState, found: string, mend?: Mend) => void;

/** Checks that need one another, and run one after another. */
export interface CheckGroup {
  /** In the order in which they are shown. */
  readonly checks: readonly string[];
  /** Milliseconds for all of them; what is not found out by then is `unknown`. */
  readonly boundMs: number;
}

export interface GroupSurroundings {
  readonly clock: Clock;
  /** Aborted when the user interrupts the program. */
  readonly signal: AbortSignal;
}

/**
 * Does the work of a group. Each of its checks is in the result: what the work left out is `unknown`, with the reason
 * (an earlier check is broken, an error, the time).
 * @throws the signal's reason
 */
export async function runGroup(
  { checks, boundMs }: CheckGroup,
  { clock, signal }: GroupSurroundings,
  work: (report: Report, signal: AbortSignal) => Promise<void>,
): Promise<readonly Check[]> {
  const found: Check[] = [];
  let open = true;
  const report: Report = (...args) => {
    // What comes after the time is over was reported as unknown.
    if (open) found.push(checked(...args));
  };
  const over = new AbortController();
  const ended = new AbortController();
  const late = clock.sleep(boundMs, AbortSignal.any([signal, ended.signal])).then(
    () => `no answer within ${boundMs / 1000} s`,
    () => undefined,
  );
  const done = work(report, AbortSignal.any([signal, over.signal])).then(
    () => undefined,
    (error: unknown) => messageOf(error),
  );
  const failure = await Promise.race([done, late]);
  // What the work has opened, it closes.
  if (signal.aborted) await done;
  signal.throwIfAborted();
  open = false;
  ended.abort();
  over.abort(new Error('the time for this check is over'));
  const broken = found.find(({ state }) => state === 'broken' || state === 'unknown');
  const why = failure ?? `not looked at, because of ${broken?.check ?? 'an earlier check'}`;
  const missing = checks.filter((name) => !found.some(({ check }) => check === name));
  const all = [...found, ...missing.map((name) => checked(name, 'unknown', why))];
  return checks.flatMap((name) => all.filter(({ check }) => check === name));
}

/** Text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
