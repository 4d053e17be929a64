import { checked, type Check } from '../../app/doctor/check.ts';
import { runDoctor } from '../../app/doctor/run-doctor.ts';
import { scriptFor } from './script-for.ts';
import { InvalidConfig } from '../../config/invalid.ts';
import { loadConfig } from '../../config/load.ts';
import { makeLog } from '../steps/log.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeChecks } from './doctor-text.ts';

interface DoctorCommandOptions {
  readonly sql?: boolean;
  readonly json?: boolean;
}

/** What `doctor` does. */
export async function doctorAction(shell: Shell, { sql, json }: DoctorCommandOptions): Promise<ExitCode> {
  if (sql !== true) return lookAround(shell, json === true);
  if (json === true) throw new UsageError('--sql prints SQL: it has no --json');
  shell.out.write(scriptFor(loadConfig(shell.env, 'database')));
  return EXIT.DONE;
}

async function lookAround(shell: Shell, json: boolean): Promise<ExitCode> {
  const { clock, signal, scrubber, out } = shell;
  const print = (checks: readonly Check[]): void => {
    const text = json ? `${JSON.stringify({ checks }, undefined, 2)}\n` : describeChecks(checks);
    out.write(scrubber.scrub(text));
  };
  try {
    const config = loadConfig(shell.env, 'service');
    const checks = await runDoctor(config, {
      clock,
      signal,
      log: makeLog(config, shell, shell.err, 'warn'),
      hide: (secret) => scrubber.hide(secret),
      scrub: scrubber.scrub,
    });
    print(checks);
    if (checks.some(({ state }) => state === 'broken')) return EXIT.NO;
    return checks.some(({ state }) => state === 'unknown') ? EXIT.FAILED : EXIT.DONE;
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    print(
      error.problems.map((problem) =>
        checked('configuration', 'broken', problem, {
          remedy: 'mend that variable, in the environment or in .env',
        }),
      ),
    );
    return EXIT.USAGE;
  }
}
