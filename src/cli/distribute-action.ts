import { type DistributeReport, runDistribute } from '../app/distribute/run-distribute.ts';
import { operatorOn } from '../app/process/operator.ts';
import { MIGRATION_BOUNDS } from '../db/migrations/run-migrations.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import type { Options } from './definitions/definition.ts';
import { readCount } from './steps/given.ts';
import { onMirror } from './steps/mirror.ts';
import { EXIT, type ExitCode } from './terminal/exit-code.ts';
import { type Shell, widthOfTerminal } from './terminal/shell.ts';
import { formatList } from './terminal/text-table.ts';

/** What `distribute` does. */
export async function distributeAction(
  shell: Shell,
  { dryRun = false, shards: given, json = false }: Options<'dryRun' | 'json', 'shards'>,
): Promise<ExitCode> {
  const shards = given === undefined ? undefined : readCount('--shards', given, 99_999);
  const options = { which: 'own', bounds: MIGRATION_BOUNDS, direct: true } as const;
  return onMirror(shell, 'distribute', options, async ({ db }) => {
    const onStep = (words: string): unknown => shell.err.write(`${words} …\n`);
    const report = await runDistribute(
      { ...shell, db, onStep, by: await operatorOn(db) },
      { dryRun, shards },
    );
    shell.out.write(json ? `${JSON.stringify(report)}\n` : describe(report, widthOfTerminal(shell.out)));
    return report.leftOvers.length > 0 ? EXIT.FAILED : EXIT.DONE;
  });
}

/** The plan as a table of tables, what was spread or would be, and what is left to do. */
function describe(report: DistributeReport, width: number | undefined): string {
  const { version, workers, shards, tables, pauseMs, leftOvers, missingLogins } = report;
  const rows = tables.map((each) => ({
    table: each.name,
    rows: each.rows === null ? each.outcome : formatCount(each.rows),
  }));
  const done = tables.every(({ outcome }) => outcome === 'there') ? 'the mirror is distributed: ' : '';
  const into = `${countOf(tables.length, 'table')} in ${countOf(shards, 'shard')}`;
  const cluster = `Citus ${version}, ${countOf(workers.length, 'node')} with shards (${workers.join(', ')})`;
  const pause = pauseMs === null ? '' : `; writes waited ${(pauseMs / 1000).toFixed(1)} s`;
  return [
    `${formatList(rows, width)}${done}${into}; ${cluster}${pause}\n`,
    ...leftOvers.map(
      (name) =>
        `${name}: its old rows still lie on the coordinator, unseen, since somebody reads it without end: say distribute again later\n`,
    ),
    ...missingLogins.map(
      (name) =>
        `login ${name} is not on every worker, and can read nothing there: on each worker that lacks it, ` +
        'SET citus.enable_create_role_propagation = off; CREATE ROLE … LOGIN IN ROLE …, as on the coordinator\n',
    ),
  ].join('');
}
