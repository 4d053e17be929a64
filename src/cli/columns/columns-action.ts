import { COLUMNS_ACTIONS } from '../steps/action-names.ts';
import { reportColumns } from '../../app/columns/column-report.ts';
import { runRetype } from '../../app/columns/run-retype.ts';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { suggestion } from '../../config/suggestion.ts';
import type { Db } from '../../db/connection/db.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import { RetypeRefused } from '../../model/errors.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { chooseAction, refuseOptions } from '../steps/choose-action.ts';
import { type MigratedMirror, onMigratedMirror } from '../steps/migrated-mirror.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { Progress } from '../terminal/progress.ts';
import { type Shell, widthOfTerminal } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { describeColumns, describeRetype } from './columns-text.ts';

interface ColumnsOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly demo?: boolean;
}

interface NamedColumn {
  readonly table: CollectionName;
  readonly column: string;
  readonly type: string;
}

/** What `columns` does. */
export async function columnsAction(
  shell: Shell,
  given: string,
  name: string | undefined,
  type: string | undefined,
  options: ColumnsOptions,
): Promise<ExitCode> {
  const action = chooseAction('columns', given, COLUMNS_ACTIONS);
  const named = action === 'list' ? nothingNamed(name, options) : readNamed(name, type);
  const config = loadConfig(shell.env, 'database');
  const which = options.demo === true ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'columns', which }, (mirror) =>
    named === undefined ? list(shell, mirror.db, options) : retype(shell, config, mirror, named, options),
  );
}

/** @throws UsageError */
function nothingNamed(name: string | undefined, options: ColumnsOptions): undefined {
  refuseOptions('columns list', options, ['dryRun']);
  if (name !== undefined) throw new UsageError('columns list takes no name');
}

/** @throws UsageError */
function readNamed(name: string | undefined, type: string | undefined): NamedColumn {
  if (name === undefined || type === undefined) {
    throw new UsageError(
      'columns retype: which column, and to which type? As in research_jobs.score numeric',
    );
  }
  const dot = name.indexOf('.');
  const [given, column] = dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)];
  const table = COLLECTION_NAMES.find((each) => each === given);
  if (table === undefined) {
    throw new UsageError(
      `columns retype: there is no table ${JSON.stringify(given)}${suggestion(given, COLLECTION_NAMES)}: ` +
        `there are ${COLLECTION_NAMES.join(', ')}`,
    );
  }
  if (column === '') throw new UsageError(`columns retype: which column of ${table}? As in ${table}.COLUMN`);
  return { table, column, type };
}

async function list(shell: Shell, db: Db, { json }: ColumnsOptions): Promise<ExitCode> {
  const columns = await reportColumns(db);
  shell.out.write(
    json === true ? `${JSON.stringify({ columns })}\n` : describeColumns(columns, widthOfTerminal(shell.out)),
  );
  return EXIT.DONE;
}

async function retype(
  shell: Shell,
  config: Config,
  { db, reached }: MigratedMirror,
  named: NamedColumn,
  { dryRun = false, json }: ColumnsOptions,
): Promise<ExitCode> {
  const progress = new Progress(shell);
  const { clock, signal } = shell;
  try {
    const report = await runRetype(
      {
        db,
        connection: reached.connection,
        clock,
        signal,
        onRows: (rows) => progress.show(`read: ${countOf(rows, 'row')} and versions`),
      },
      { ...named, excluded: config.excludeFields[named.table] },
      dryRun,
    );
    progress.end();
    shell.out.write(json === true ? `${JSON.stringify({ columns: [report] })}\n` : describeRetype(report));
    const { tried } = report;
    return tried !== null && tried.rows.unfit + tried.versions.unfit > 0 ? EXIT.NO : EXIT.DONE;
  } catch (error) {
    progress.end();
    if (!(error instanceof RetypeRefused)) throw error;
    const near = suggestion(error.given, error.known);
    const all = error.known.length === 0 ? '' : near === '' ? `: there are ${error.known.join(', ')}` : near;
    throw new UsageError(`columns retype: ${error.message}${all}`);
  }
}
