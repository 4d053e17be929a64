import { loadConfig } from '../../config/load.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { answerQuery, readTimeout } from './answer-query.ts';
import { CsvRows } from './csv-rows.ts';
import { JsonRows } from './json-rows.ts';
import type { RowPrinter } from './row-printer.ts';
import { TableRows } from './table-rows.ts';
import type { ExitCode } from '../terminal/exit-code.ts';

interface SqlOptions {
  readonly csv?: boolean;
  readonly json?: boolean;
  readonly vertical?: boolean;
  readonly demo?: boolean;
  readonly timeout: string;
}

const FORMATS = ['csv', 'json', 'vertical'] as const;

/** What `sql` does. */
export async function sqlAction(shell: Shell, query: string, options: SqlOptions): Promise<ExitCode> {
  if (query.trim() === '') throw new UsageError('the query is empty');
  const printer = choosePrinter(shell, options);
  const asked = {
    command: 'sql',
    text: query,
    timeout: readTimeout(options.timeout),
    demo: options.demo ?? false,
  };
  return answerQuery(shell, loadConfig(shell.env, 'database'), asked, printer);
}

/** @throws UsageError */
function choosePrinter(shell: Shell, options: SqlOptions): RowPrinter {
  const { out, signal } = shell;
  const [format, other] = FORMATS.filter((each) => options[each] === true);
  if (other !== undefined) throw new UsageError(`--${format} and --${other} exclude each other`);
  if (format === 'json') return new JsonRows(out, signal);
  if (format === 'csv') return new CsvRows(out, signal);
  return new TableRows(shell, format === 'vertical');
}
