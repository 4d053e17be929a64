import { whyReadOnly } from '../../app/daemon/readiness.ts';
import { MIGRATIONS, programVersion } from '../../app/program-files.ts';
import { unreadyDatabase } from '../../app/status/problems.ts';
import { reportWithoutTables, statusReport } from '../../app/status/collect-status.ts';
import { readWorkload } from '../../app/status/workload.ts';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { openDatabase } from '../../db/connection/database.ts';
import { whatIsMissing } from '../../db/inspection/inspection.ts';
import { pendingMigrations } from '../../db/migrations/run-migrations.ts';
import type { StatusReport } from '../../model/status/status-report.ts';
import type { ReachedDatabase } from '../../app/process/reach-database.ts';
import { reachMirror } from '../steps/mirror.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { widthOfTerminal, type Shell } from '../terminal/shell.ts';
import { describeStatus } from './status-text.ts';

/** What `status` does. */
export async function statusAction(
  shell: Shell,
  { json = false, demo = false }: { readonly json?: boolean; readonly demo?: boolean },
): Promise<ExitCode> {
  const config = loadConfig(shell.env, 'database');
  const mirror = await reachMirror(shell, config, 'status', demo ? 'demo' : 'likely');
  let report: StatusReport;
  try {
    report = await readStatus(config, shell, mirror);
  } finally {
    await mirror.leave();
  }
  const text = json
    ? `${JSON.stringify(report, undefined, 2)}\n`
    : describeStatus(report, widthOfTerminal(shell.out));
  shell.out.write(shell.scrubber.scrub(text));
  return report.healthy ? EXIT.DONE : EXIT.NO;
}

async function readStatus(
  config: Config,
  shell: Shell,
  { connection, words }: ReachedDatabase,
): Promise<StatusReport> {
  const database = await openDatabase({ ...connection, schema: config.schema, max: 1 });
  try {
    const { db } = database;
    const now = new Date(shell.clock.now());
    const pending = await pendingMigrations({ db, folder: MIGRATIONS, version: programVersion() });
    if (pending.length > 0) {
      const what = `the database is behind this program (${pending.join(', ')})`;
      return reportWithoutTables(config, words, now, { cause: 'database_behind', what });
    }
    const missing = await whatIsMissing(db, MIGRATIONS, false);
    if (missing !== undefined) return reportWithoutTables(config, words, now, unreadyDatabase(missing));
    return await statusReport({
      config,
      db,
      words,
      accounts: undefined,
      workload: () => readWorkload(db, config),
      unready: await whyReadOnly(db),
    });
  } finally {
    await database.close();
  }
}
