import type { NamedFinding } from '../../../src/operate/check.ts';
import { present, type Environment, type System } from './system.ts';
import { runProgram, type Outcome } from './program.ts';
import { ask } from '../postgres/on-connection.ts';

export type Examination = ReturnType<typeof readExamination>;

/** Where `doctor` runs, and its environment. */
export type DoctorSetting = ReturnType<typeof settingOf>;

/** As the daemon of a system has it, but for `env`. */
export function settingOf({ cwd, databaseUrl, sandbox }: System, env: Environment = {}) {
  const own: Environment = {
    DATABASE_URL: databaseUrl,
    MIRROR_API_URL: sandbox.url,
    MIRROR_API_KEY: sandbox.key,
    MIRROR_HTTP_PORT: '0',
  };
  return { cwd, env: { ...own, ...env } };
}

export async function examine({ cwd, env }: DoctorSetting): Promise<Examination> {
  return readExamination(await runProgram(['doctor', '--json'], { cwd, env: present(env) }));
}

/** What `doctor` said. @throws where its exit code is not what its checks say */
export function readExamination({ code, stdout, stderr }: Outcome) {
  if (!stdout.startsWith('{')) throw new Error(`doctor ended with ${code}: ${stdout}${stderr}`);
  const told = JSON.parse(stdout) as { checks: NamedFinding[] };
  // What tests run on falls behind with each release of Node and PostgreSQL: src/operate/check.test.ts judges that.
  const checks = told.checks.map((each) =>
    each.found.includes('lacks the security fixes of') ? { ...each, state: 'ok' as const } : each,
  );
  const namesOf = (state: NamedFinding['state']): string[] =>
    checks.filter((each) => each.state === state).map(({ check }) => check);
  const unlessBroken = namesOf('unknown').length > 0 ? 3 : 0;
  const due = namesOf('broken').includes('configuration') ? 2 : namesOf('broken').length > 0 ? 1 : unlessBroken;
  if (code !== due) throw new Error(`doctor ended with ${code}, not ${due}: ${stdout}`);
  return {
    code,
    checks,
    /** A line each, `tls broken: it is … → what to do`; without those that another one kept from being looked at. */
    wrong: checks
      .filter(({ state, found }) => state !== 'ok' && !found.startsWith('skipped: '))
      .map(({ check, state, found, remedy, command }) =>
        [`${check} ${state}: ${found}`, remedy, command].filter((part) => part !== null).join(' → '),
      )
      .join('\n'),
    /** The only check of that name. @throws where there are none, or several */
    the: (name: string): NamedFinding => {
      const [check, another] = checks.filter((each) => each.check === name);
      if (check === undefined || another !== undefined) throw new Error(`${name}: ${stdout}`);
      return check;
    },
    /** Names of the checks in that state. */
    in: namesOf,
  };
}

/** Runs the SQL of a check as a DBA does, each statement by itself. */
export async function ran({ sql }: NamedFinding, url: string): Promise<void> {
  if (sql === null) throw new Error('there is no SQL to run');
  await ask(url, ...sql.split(/;\s*/).filter((each) => each !== ''));
}
