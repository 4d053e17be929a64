import type { Config } from '../../config/config.ts';
import { parseDuration } from '../../config/values/duration.ts';
import { InvalidValue } from '../../config/invalid.ts';
import { loadConfig } from '../../config/load.ts';
import { resolveConnection, type ConnectionOptions } from '../../db/connection/pool.ts';
import {
  MoreThanReading,
  readOnlyQuery,
  StatementRefused,
  type ReadOnlyQuery,
} from '../../db/roles/read-only-query.ts';
import { sqlLogin, sqlLoginByHand } from '../../db/roles/sql-login.ts';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { makeLog } from '../steps/log.ts';
import { reachMirror } from '../steps/mirror-database.ts';
import { OutputClosed } from '../terminal/output-closed.ts';
import { JsonRows, TableRows, type RowPrinter } from './row-printer.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';

interface SqlOptions {
  readonly json?: boolean;
  readonly demo?: boolean;
  readonly timeout: string;
}

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
    .option('--json', 'rows as a JSON array, each an object; every row, every digit')
    .option('--timeout <duration>', 'give up after that long', '60s')
    .option('--demo', "the demo's mirror, when there is one of your own too")
    .addHelpText(
      'after',
      examples([
        ['research-mirror sql "select * from freshness"', 'what is mirrored, and how fresh'],
        ['research-mirror sql "select status, count(*) from research_jobs_live group by 1"', 'jobs by state'],
        ['research-mirror sql "select * from columns"', 'which field is in which column'],
        ['research-mirror sql --json "select * from lists_live" | jq', 'for programs'],
        ['research-mirror sql "copy lists_live to stdout (format csv, header)"', 'for spreadsheets'],
      ]),
    )
    .action(
      run(async (shell, query: string, options: SqlOptions) => {
        if (query.trim() === '') throw new UsageError('the query is empty');
        const timeout = readTimeout(options.timeout);
        const config = loadConfig(shell.env, 'database');
        const printer = options.json === true ? new JsonRows(shell.out) : new TableRows(shell.out, shell.err);
        return answer(
          shell,
          config,
          options.demo ?? false,
          {
            text: query,
            schema: config.schema,
            timeout,
            signal: shell.signal,
            onColumns: (columns) => printer.columns(columns),
            onRow: (values) => printer.row(values),
            onCopy: (piece) => printer.copy(piece),
          },
          printer,
        );
      }),
    );
};

async function answer(
  shell: Shell,
  config: Config,
  demo: boolean,
  query: ReadOnlyQuery,
  printer: RowPrinter,
): Promise<ExitCode> {
  const log = makeLog(config, shell, shell.err, 'warn');
  const database = await reachMirror(config, shell, {
    command: 'sql',
    which: demo ? 'demo' : 'likely',
    log,
  });
  try {
    await queryAsReader(await database.readers(), query);
    printer.end();
    return EXIT.DONE;
  } catch (error) {
    // The reader has what it wanted.
    if (error instanceof OutputClosed) return EXIT.DONE;
    if (!(error instanceof StatementRefused)) throw error;
    shell.err.write(shell.scrubber.scrub(explainRefusal(error, query.text)));
    return EXIT.NO;
  } finally {
    await database.leave();
  }
}

/** By the first of `logins` that can do nothing but read; nothing is run where none can. */
async function queryAsReader(logins: readonly ConnectionOptions[], query: ReadOnlyQuery): Promise<void> {
  let refused: MoreThanReading | undefined;
  for (const login of logins) {
    if (refused !== undefined && !(await comesIn(login))) break;
    try {
      return await readOnlyQuery(login, query);
    } catch (error) {
      if (!(error instanceof MoreThanReading)) throw error;
      refused ??= error;
    }
  }
  const { schema } = query;
  throw new UsageError(
    `nothing was run: sql takes a login that can do nothing but read, and ${refused?.message ?? 'there is none'}. ` +
      `As a DBA, once: ${sqlLoginByHand(schema)} Then give sql that login: ` +
      `DATABASE_URL=postgres://${sqlLogin(schema)}:…@host/database`,
  );
}

/** Whether there is such a login, and the server asks it for no password. */
async function comesIn(login: ConnectionOptions): Promise<boolean> {
  return resolveConnection(login).then(
    () => true,
    () => false,
  );
}

function readTimeout(text: string): number {
  try {
    return parseDuration(text, 1);
  } catch (error) {
    if (error instanceof InvalidValue) throw new UsageError(`--timeout: ${error.message}`);
    throw error;
  }
}

/** As psql tells it: what, where (line and a mark below it), and the hint. */
export function explainRefusal(error: StatementRefused, query: string): string {
  const several = error.state === '42601' && error.message.includes('multiple commands');
  const what = several ? 'one statement at a time, please: this is several' : error.message;
  const lines = [`research-mirror: ${what} (${error.state})`];
  if (error.position !== undefined) {
    // Positions count characters, not UTF-16 units.
    const before = Array.from(query)
      .slice(0, error.position - 1)
      .join('');
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = query.slice(lineStart).split('\n')[0] ?? '';
    const label = `line ${before.split('\n').length}: `;
    const indent = ' '.repeat(label.length) + before.slice(lineStart).replaceAll(/[^\t]/g, ' ');
    lines.push(`${label}${line}`, `${indent}^`);
  }
  if (error.hint !== undefined) lines.push(`hint: ${error.hint}`);
  return `${lines.join('\n')}\n`;
}
