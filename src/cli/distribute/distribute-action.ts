import { runDistribute } from '../../app/distribute/run-distribute.ts';
import { loadConfig } from '../../config/load.ts';
import { openDatabase } from '../../db/connection/database.ts';
import { MIGRATION_BOUNDS } from '../../db/migrations/run-migrations.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeDistributed } from './distribute-text.ts';

interface DistributeFlags {
  readonly dryRun?: boolean;
  readonly shards?: string;
  readonly json?: boolean;
}

/** More parts than this cost each query over all accounts more than they spread. */
const MOST_SHARDS = 1024;

/** What `distribute` does. */
export async function distributeAction(shell: Shell, flags: DistributeFlags): Promise<ExitCode> {
  const { dryRun = false, json } = flags;
  const shards = readShards(flags.shards);
  const config = loadConfig(shell.env, 'database');
  return onMigratedMirror(shell, config, { command: 'distribute', which: 'own' }, async ({ reached }) => {
    const { clock, signal } = shell;
    const database = await openDatabase({
      ...reached.direct,
      schema: config.schema,
      max: 1,
      bounds: MIGRATION_BOUNDS,
    });
    try {
      const report = await runDistribute(
        { db: database.db, clock, signal, onStep: (words) => shell.err.write(`${words} …\n`) },
        { dryRun, shards },
      );
      shell.out.write(
        json === true
          ? `${JSON.stringify(report)}\n`
          : describeDistributed(report, widthOfTerminal(shell.out)),
      );
      return report.leftOvers.length > 0 ? EXIT.FAILED : EXIT.DONE;
    } finally {
      await database.close();
    }
  });
}

/** @throws UsageError */
function readShards(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const shards = Number(given);
  if (!Number.isInteger(shards) || shards < 1 || shards > MOST_SHARDS) {
    throw new UsageError(
      `--shards: ${JSON.stringify(given)} must be a whole number from 1 to ${MOST_SHARDS}`,
    );
  }
  return shards;
}
