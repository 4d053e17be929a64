import type { Config } from '../../config/config.ts';
import { InvalidValue } from '../../config/invalid.ts';
import { parseDuration } from '../../config/values/duration.ts';
import { resolveConnection, type ConnectionOptions } from '../../db/connection/pool.ts';
import {
  MoreThanReading,
  readOnlyQuery,
  StatementRefused,
  type ReadOnlyQuery,
  type RowReceiver,
} from '../../db/roles/read-only-query.ts';
import { sqlLogin, sqlLoginByHand } from '../../db/roles/sql-login.ts';
import { makeLog } from '../steps/log.ts';
import { reachMirror } from '../steps/mirror-database.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { OutputClosed } from '../terminal/output-closed.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** Prints a query's answer as it comes. */
export interface RowPrinter extends RowReceiver {
  /** The answer is complete, or as long as it was wanted. */
  end(): void | Promise<void>;
}

/** A query for somebody who may only read. */
export interface AskedQuery {
  /** The command that asks: `sql`. */
  readonly command: string;
  /** One statement. */
  readonly text: string;
  /** Milliseconds. */
  readonly timeout: number;
  /** The demo's mirror, even where there is another one. */
  readonly demo: boolean;
}

/**
 * Runs a query in the mirror, as a login that can only read, and prints the answer; a refusal of Postgres is told on
 * stderr.
 * @throws UsageError where no such login is there; DatabaseUnavailable; the signal's reason; errors of the printer
 */
export async function answerQuery(
  shell: Shell,
  config: Config,
  asked: AskedQuery,
  printer: RowPrinter,
): Promise<ExitCode> {
  try {
    await askMirror(shell, config, asked, printer);
    return EXIT.DONE;
  } catch (error) {
    // The reader has what it wanted.
    if (error instanceof OutputClosed) return EXIT.DONE;
    if (!(error instanceof StatementRefused)) throw error;
    shell.err.write(shell.scrubber.scrub(explainRefusal(error, asked.text)));
    return EXIT.NO;
  }
}

/** The same for a caller that judges a refusal itself. @throws StatementRefused, and as answerQuery */
export async function askMirror(
  shell: Shell,
  config: Config,
  { command, text, timeout, demo }: AskedQuery,
  printer: RowPrinter,
): Promise<void> {
  const log = makeLog(config, shell, shell.err, 'warn');
  const database = await reachMirror(config, shell, { command, which: demo ? 'demo' : 'likely', log });
  try {
    await queryAsReader(command, await database.readers(), {
      text,
      schema: config.schema,
      timeout,
      signal: shell.signal,
      receiver: printer,
    });
    await printer.end();
  } finally {
    await database.leave();
  }
}

/** By the first of `logins` that can do nothing but read; nothing is run where none can. */
async function queryAsReader(
  command: string,
  logins: readonly ConnectionOptions[],
  query: ReadOnlyQuery,
): Promise<void> {
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
    `nothing was run: ${command} takes a login that can do nothing but read, and ` +
      `${refused?.message ?? 'there is none'}. As a DBA, once: ${sqlLoginByHand(schema)} Then give ${command} that ` +
      `login: DATABASE_URL=postgres://${sqlLogin(schema)}:…@host/database`,
  );
}

/** Whether there is such a login, and the server asks it for no password. */
async function comesIn(login: ConnectionOptions): Promise<boolean> {
  return resolveConnection(login).then(
    () => true,
    () => false,
  );
}

/** `--timeout` in milliseconds. @throws UsageError */
export function readTimeout(text: string): number {
  try {
    return parseDuration(text, 1);
  } catch (error) {
    if (error instanceof InvalidValue) throw new UsageError(`--timeout: ${error.message}`);
    throw error;
  }
}

/** As psql tells it: what, where (line and a mark below it), and the hint. */
export function explainRefusal(error: StatementRefused, query: string): string {
  // A syntax error names its place; that several statements came has none. Texts are in the server's language.
  const several = error.state === '42601' && error.position === undefined;
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
