import { programVersion } from '../../app/program-files.ts';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { suggestion } from '../../config/suggestion.ts';
import { StatementRefused } from '../../db/roles/read-only-query.ts';
import { readableRelations, wholeRelation } from '../../db/roles/whole-relation.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { OutputClosed } from '../terminal/output-closed.ts';
import { Progress } from '../terminal/progress.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { askMirror, readTimeout, type AskedQuery } from '../sql/answer-query.ts';
import { CsvRows } from '../sql/csv-rows.ts';
import { fileTarget, streamTarget, type ExportTarget } from './export-target.ts';
import type { ParquetColumn } from './parquet-types.ts';
import type { RowPrinter } from '../sql/row-printer.ts';
import { explainRefusal } from '../sql/statement-refusal.ts';

interface ExportOptions {
  readonly csv?: boolean;
  readonly parquet?: boolean;
  readonly output?: string | undefined;
  readonly json?: boolean;
  readonly demo?: boolean;
  readonly timeout: string;
}

/** Rows between two looks at the progress. */
const LOOK = 1_000;

/** What `export` does. */
export async function exportAction(shell: Shell, table: string, options: ExportOptions): Promise<ExitCode> {
  const timeout = readTimeout(options.timeout);
  const config = loadConfig(shell.env, 'database');
  // As other programs have it.
  const output = options.output === '-' ? undefined : options.output;
  checkOptions(shell, { ...options, output });
  const target = output === undefined ? streamTarget(shell) : await fileTarget(output);
  try {
    return await writeExport(shell, config, table, { ...options, output, timeout }, target);
  } finally {
    await target.close();
  }
}

/** @throws UsageError */
function checkOptions({ out }: Shell, { csv, parquet, output, json }: ExportOptions): void {
  if (csv === parquet) throw new UsageError('export takes one of --csv and --parquet');
  if (output === '') throw new UsageError('--output: the name of the file is empty');
  if (output !== undefined) return;
  if (json === true) throw new UsageError('--json goes with --output: else the table itself is on stdout');
  if (parquet === true && out.isTTY === true) {
    throw new UsageError('Parquet is nothing for a terminal: name a file with --output, or pipe it');
  }
}

async function writeExport(
  shell: Shell,
  config: Config,
  table: string,
  options: Omit<ExportOptions, 'timeout'> & { readonly timeout: number },
  target: ExportTarget,
): Promise<ExitCode> {
  const { output, parquet = false, demo = false, timeout } = options;
  const { schema } = config;
  const name = table.startsWith(`${schema}.`) ? table.slice(schema.length + 1) : table;
  const asked: AskedQuery = { command: 'export', text: wholeRelation(schema, name), timeout, demo };
  const { printer, written, close } = await openPrinter(shell, target, parquet);
  const progress = output === undefined ? undefined : new Progress(shell);
  let rows = 0;
  try {
    await askMirror(shell, config, asked, {
      columns: (columns) => printer.columns(columns),
      row: (values) => {
        rows += 1;
        if (rows % LOOK === 0) progress?.show(`${name}: ${countOf(rows, 'row')}`);
        return printer.row(values);
      },
      copy: (piece) => printer.copy(piece),
      room: () => printer.room(),
      end: () => printer.end(),
    });
    await target.finish();
  } catch (error) {
    // The reader has what it wanted.
    if (error instanceof OutputClosed) return EXIT.DONE;
    if (!(error instanceof StatementRefused)) throw error;
    if (error.state === '42P01') await refuseUnknown(shell, config, asked, name);
    shell.err.write(shell.scrubber.scrub(explainRefusal(error, asked.text)));
    return EXIT.NO;
  } finally {
    await close();
    progress?.end();
  }
  const columns = written();
  for (const { element, textBecause } of columns) {
    if (textBecause === undefined) continue;
    shell.err.write(`column "${element.name}" is text in the file: ${textBecause}\n`);
  }
  if (output === undefined) return EXIT.DONE;
  const told = {
    table: name,
    file: output,
    format: parquet ? 'parquet' : 'csv',
    rows,
    bytes: target.size,
    columns: parquet ? columns.map(({ element, type }) => ({ name: element.name, type })) : undefined,
  };
  const text =
    options.json === true
      ? JSON.stringify(told)
      : `${output}: ${countOf(rows, 'row')} of ${name}, ${formatCount(target.size)} bytes`;
  shell.out.write(`${text}\n`);
  return EXIT.DONE;
}

interface ExportPrinter {
  readonly printer: RowPrinter;
  /** Of a Parquet file, once it is written; of CSV none, which has no types. */
  readonly written: () => readonly ParquetColumn[];
  readonly close: () => Promise<void>;
}

async function openPrinter(shell: Shell, target: ExportTarget, parquet: boolean): Promise<ExportPrinter> {
  if (!parquet) return { printer: new CsvRows(target), written: () => [], close: async () => {} };
  // Loaded when needed: --help needs none of it.
  const { ParquetRows } = await import('./parquet-rows.ts');
  const { RowSpool } = await import('./row-spool.ts');
  const spool = await RowSpool.open(target.folder);
  const createdBy = `research-mirror version ${programVersion()}`;
  const printer = new ParquetRows(target, spool, shell.signal, createdBy);
  return { printer, written: () => printer.written, close: () => spool.close() };
}

/** @throws UsageError where there is no such table or view, with those that there are */
async function refuseUnknown(shell: Shell, config: Config, asked: AskedQuery, name: string): Promise<void> {
  const names: string[] = [];
  const text = readableRelations(config.schema);
  await askMirror(
    shell,
    config,
    { ...asked, text },
    {
      columns: () => {},
      row: ([relation]) => names.push(relation ?? '') > 0,
      copy: () => {},
      room: () => undefined,
      end: () => {},
    },
  );
  if (names.includes(name)) return;
  throw new UsageError(
    `no such table or view: ${JSON.stringify(name)}${suggestion(name, names)}; there are ${names.join(', ')}`,
  );
}
