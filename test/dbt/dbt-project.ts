import { spawn } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import { makeFolder } from '../support/processes/program.ts';
import { ROOT } from '../support/rules/source-files.ts';

/** What came of one dbt command; `problem`: why dbt could not begin. */
interface DbtOutcome {
  readonly success: boolean;
  readonly problem: string | null;
  /** A model, test, snapshot or source each; `status` in dbt's words: success, pass, fail, error, skipped, warn. */
  readonly results: readonly { name: string; status: string; message: string | null }[];
}

export type DbtProject = Awaited<ReturnType<typeof openDbtProject>>;

/**
 * An analyst's project (test/dbt/project) that has our package installed.
 * @param url of the login that dbt uses; its tables come into the schema `analytics`
 */
export async function openDbtProject(url: string) {
  const folder = makeFolder();
  await cp(join(ROOT, 'test', 'dbt', 'project'), folder.path, { recursive: true });
  await writeFile(join(folder.path, 'packages.yml'), `packages:\n  - local: ${join(ROOT, 'dbt')}\n`);
  const { hostname, port, username, password, pathname } = new URL(url);
  const child = spawn(inject('python'), [join(import.meta.dirname, 'run_dbt.py')], {
    cwd: folder.path,
    env: {
      PATH: process.env['PATH'],
      HOME: folder.path,
      DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
      DO_NOT_TRACK: '1',
      DBT_QUIET: 'true',
      TEST_HOST: hostname,
      TEST_PORT: port,
      TEST_USER: decodeURIComponent(username),
      TEST_PASSWORD: decodeURIComponent(password),
      TEST_DATABASE: pathname.slice(1),
    },
    stdio: 'pipe',
  });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed = (printed + text).slice(-10_000);
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  /** Runs `dbt …`. Commands run one after another. */
  const run = async (...args: readonly string[]): Promise<DbtOutcome> => {
    child.stdin.write(`${JSON.stringify(args)}\n`);
    const { value, done } = await answers.next();
    if (done === true) throw new Error(`dbt’s process ended:\n${printed}`);
    return JSON.parse(value) as DbtOutcome;
  };
  const project = {
    run,
    /** The same, which must end well. @throws with what went wrong, a line each */
    async must(...args: readonly string[]): Promise<DbtOutcome> {
      const outcome = await run(...args);
      if (outcome.success) return outcome;
      const bad = outcome.results.filter(({ status }) => !['success', 'pass'].includes(status));
      const lines = bad.map(({ name, status, message }) => `${name}: ${status}: ${message ?? ''}`);
      throw new Error([`dbt ${args.join(' ')}:`, outcome.problem ?? '', ...lines, printed].join('\n'));
    },
    async close() {
      child.stdin.end();
      await ended;
      folder.remove();
    },
  };
  await project.must('deps');
  return project;
}
