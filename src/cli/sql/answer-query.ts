import type { Config } from '../../config/config.ts';
import { resolveConnection, type ConnectionOptions } from '../../db/connection/pool.ts';
import {
  MoreThanReading,
  readOnlyQuery,
  type ReadOnlyQuery,
  type RowReceiver,
  type StatementRefused,
} from '../../db/roles/read-only-query.ts';
import { readerUrl, sqlLogin, sqlLoginByHand } from '../../db/roles/sql-login.ts';
import type { ReachedDatabase } from '../../app/process/open-mirror.ts';
import { reachMirror } from '../steps/mirror.ts';
import { UsageError } from '../terminal/exit-code.ts';
import type { Shell } from '../terminal/shell.ts';

interface AskedQuery {
  /** The command that asks: `sql`. */
  readonly command: string;
  readonly text: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly demo: boolean;
}

/**
 * Runs a query in the mirror, as a login that can only read.
 * @throws UsageError where no such login is there; StatementRefused; DatabaseUnavailable; the signal's reason; errors of
 * the receiver
 */
export async function askMirror(
  shell: Shell,
  config: Config,
  { command, text, timeout, demo }: AskedQuery,
  receiver: RowReceiver,
): Promise<void> {
  const { schema } = config;
  const database = await reachMirror(shell, config, command, demo ? 'demo' : 'likely');
  try {
    const logins = await readers(shell, database, schema);
    await queryAsReader(command, logins, { text, schema, timeout, signal: shell.signal, receiver });
  } finally {
    await database.leave();
  }
}

/**
 * For statements of somebody's own, to be tried first to last: a login that only reads, which the program has made; of
 * DATABASE_URL its own, and one that a DBA has made beside it.
 */
async function readers(
  { scrubber }: Shell,
  { connection, server }: ReachedDatabase,
  schema: string,
): Promise<readonly ConnectionOptions[]> {
  if (server === undefined) return [connection, { ...connection, as: sqlLogin(schema) }];
  const url = await readerUrl(server.url, await server.readerPassword(), schema, connection.program);
  scrubber.hide(new URL(url).password);
  return [{ ...connection, url }];
}

/** By the first of `logins` that can do nothing but read; nothing is run where none can. */
async function queryAsReader(
  command: string,
  logins: readonly ConnectionOptions[],
  query: ReadOnlyQuery,
): Promise<void> {
  let refused: MoreThanReading | undefined;
  for (const login of logins) {
    // Another login is tried where there is one, and the server asks it for no password.
    if (refused !== undefined && !(await resolveConnection(login).catch(() => false))) break;
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
