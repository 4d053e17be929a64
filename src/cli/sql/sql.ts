import { loadConfig } from '../../config/load.ts';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { roomIn, type Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { answerQuery, readTimeout } from './answer-query.ts';
import { CsvRows } from './csv-rows.ts';
import { JsonRows } from './json-rows.ts';
import type { RowPrinter } from './row-printer.ts';
import { TableRows } from './table-rows.ts';

interface SqlOptions {
  readonly csv?: boolean;
  readonly json?: boolean;
  readonly vertical?: boolean;
  readonly demo?: boolean;
  readonly timeout: string;
}

const FORMATS = ['csv', 'json', 'vertical'] as const;

export const addSql: AddCommand = (program, run) => {
  program
    .command('sql')
    .summary('run a query in the mirror and print the answer')
    .description(
      'Runs one query in the mirror, as a login that can only read, and prints the answer. Tables of the mirror need ' +
        'no schema before their names; times are UTC. Works beside a running daemon or demo, and without one. With ' +
        'DATABASE_URL, the login is one that you make: the command says how.',
    )
    .argument('<query>', 'one statement, in quotes')
    .option('--csv', 'rows as CSV (RFC 4180), with a line of titles; NULL is empty; every row, every digit')
    .option('--json', 'a JSON object whose "rows" are objects; every row, every digit')
    .option(
      '--vertical',
      'a line for each column instead of each row; a terminal too narrow for the titles gets it anyhow',
    )
    .option('--timeout <duration>', 'give up after that long', '60s')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh'],
        ['research-mirror sql "select status, count(*) from research_jobs_live group by 1"', 'jobs by state'],
        ['research-mirror sql --vertical "select * from research_jobs limit 1"', 'one row, whole'],
        ['research-mirror sql --json "select * from lists_live" | jq \'.rows[]\'', 'for programs'],
        ['research-mirror sql --csv "select * from lists_live" > lists.csv', 'for spreadsheets'],
      ]),
    )
    .action(
      run(async (shell, query: string, options: SqlOptions) => {
        if (query.trim() === '') throw new UsageError('the query is empty');
        const printer = choosePrinter(shell, options);
        const asked = {
          command: 'sql',
          text: query,
          timeout: readTimeout(options.timeout),
          demo: options.demo ?? false,
        };
        return answerQuery(shell, loadConfig(shell.env, 'database'), asked, printer);
      }),
    );
};

/** @throws UsageError */
function choosePrinter(shell: Shell, options: SqlOptions): RowPrinter {
  const { out, signal } = shell;
  const [format, other] = FORMATS.filter((each) => options[each] === true);
  if (other !== undefined) throw new UsageError(`--${format} and --${other} exclude each other`);
  if (format === 'json') return new JsonRows(out, signal);
  if (format === 'csv')
    return new CsvRows({ write: (text) => out.write(text), room: () => roomIn(out, signal) });
  return new TableRows(shell, format === 'vertical');
}
