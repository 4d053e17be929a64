import type { NamedFinding } from '../../../src/operate/check.ts';
import { present, type Environment } from './system.ts';
import { runProgram, type Outcome } from './program.ts';
import { ask } from '../postgres/on-connection.ts';

const LACKING = 'lacks the security fixes of';

/** What `doctor` said, and how to do what it said. */
export interface Examination {
  readonly code: number | null;
  readonly checks: readonly NamedFinding[];
  /** The only check of that name. @throws where there are none, or several */
  the(check: string): NamedFinding;
  /** Names of those in that state. */
  in(state: NamedFinding['state']): string[];
}

export interface DoctorSetting {
  readonly cwd: string;
  readonly env: Environment;
}

export async function examine({ cwd, env }: DoctorSetting): Promise<Examination> {
  const outcome = await runProgram(['doctor', '--json'], { cwd, env: present(env) });
  return readExamination(outcome);
}

export function readExamination({ code, stdout, stderr }: Outcome): Examination {
  if (!stdout.startsWith('{')) throw new Error(`doctor ended with ${code}: ${stdout}${stderr}`);
  const told = JSON.parse(stdout) as { checks: NamedFinding[] };
  // What tests run on falls behind with each release of Node and PostgreSQL: src/operate/releases.test.ts judges that.
  const checks = told.checks.map((each) =>
    each.found.includes(LACKING) ? { ...each, state: 'ok' as const } : each,
  );
  return {
    code,
    checks,
    the(name) {
      const [check, another] = checks.filter((each) => each.check === name);
      if (check === undefined || another !== undefined) throw new Error(`${name}: ${stdout}`);
      return check;
    },
    in: (state) => checks.filter((each) => each.state === state).map(({ check }) => check),
  };
}

/** Runs the SQL of a check as a DBA does, each statement by itself. */
export async function ran({ sql }: NamedFinding, url: string): Promise<void> {
  if (sql === null) throw new Error('there is no SQL to run');
  await ask(url, ...sql.split(/;\s*/).filter((each) => each !== ''));
}
