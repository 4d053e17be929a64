import { pipeline } from 'node:stream/promises';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { from, to } from 'pg-copy-streams';
import { Db } from '../connection/db.ts';
import { PIN_SETTINGS } from '../connection/pinned-settings.ts';
import { type ConnectionOptions, resolveConnection } from '../connection/pool.ts';
import { databaseError } from '../connection/sql-state.ts';

/** A connection in a transaction, which Kysely's statements and COPY share, one after the other. */
export interface CopyConnection {
  readonly db: Db;
  readonly client: pg.Client;
}

/** A copy may take as long as it takes; one that is idle in its transaction for a minute hangs. */
const BOUNDS = 'set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 60000';

/**
 * Runs `work` in one transaction on a connection of its own, and commits it.
 * @param mode of `begin`: isolation level and access
 * @param signal ends the connection: the server rolls back
 * @throws DatabaseUnavailable, Unusable; the signal's reason; errors of the work
 */
export async function inTransaction<T>(
  options: ConnectionOptions & { readonly schema: string },
  mode: string,
  signal: AbortSignal,
  work: (connection: CopyConnection) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = new pg.Client(await resolveConnection(options));
  // When a connection breaks, the statement under way fails, or the next one.
  client.on('error', () => {});
  const end = (): void => void client.end().catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  try {
    await client.connect();
    await client.query(`begin isolation level ${mode}; ${PIN_SETTINGS}; ${BOUNDS}`);
    const result = await work({ client, db: dbOn(client, options.schema) });
    await client.query('commit');
    return result;
  } catch (error) {
    signal.throwIfAborted();
    throw databaseError(error);
  } finally {
    signal.removeEventListener('abort', end);
    await client.end().catch(() => {});
  }
}

/** Kysely on this one connection, in the transaction that it is in. */
function dbOn(client: pg.Client, schema: string): Db {
  const only = { query: client.query.bind(client), release: () => {} };
  const pool = { options: {}, connect: () => Promise.resolve(only), end: () => Promise.resolve() };
  return new Db(new Kysely({ dialect: new PostgresDialect({ pool }) }), schema);
}

/**
 * Sends rows from one server to the other, at the pace of the slower one.
 * @param read `copy … to stdout` @param write `copy … from stdin`
 * @param onBytes gets how many bytes went so far
 * @returns how many rows there were
 */
export async function copyRows(
  source: CopyConnection,
  target: CopyConnection,
  { read, write }: { readonly read: string; readonly write: string },
  onBytes: (bytes: number) => void,
): Promise<number> {
  let bytes = 0;
  const counted = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      onBytes((bytes += piece.length));
      yield piece;
    }
  };
  const rows = target.client.query(from(write));
  await pipeline(source.client.query(to(read)), counted, rows);
  return rows.rowCount;
}
