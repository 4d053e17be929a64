import type { PoolClient } from 'pg';
import { type Database, type DatabaseOptions, openDatabase } from '../connection/database.ts';

/** A database on a single connection: COPY runs on it between the statements of Kysely's transaction. */
export interface CopyingDatabase extends Database {
  /** The connection. Use it in a transaction only: outside of one it may be another. */
  client(): PoolClient;
}

/** What copies may take as long as it takes; one that is idle in its transaction hangs. */
const COPY_BOUNDS = { statement: 0, idle: 60_000 };

/**
 * @param signal ends the connection: the server rolls back what was not committed
 * @throws DatabaseUnavailable, Unusable
 */
export async function openCopyingDatabase(
  options: Omit<DatabaseOptions, 'max' | 'bounds' | 'onConnect'>,
  signal: AbortSignal,
): Promise<CopyingDatabase> {
  signal.throwIfAborted();
  let client: PoolClient | undefined;
  const database = await openDatabase({
    ...options,
    max: 1,
    bounds: COPY_BOUNDS,
    onConnect: (made) => {
      client = made;
    },
  });
  const cut = (): void => void client?.connection.stream.destroy(new Error('interrupted'));
  signal.addEventListener('abort', cut, { once: true });
  return {
    ...database,
    client: () => {
      if (client === undefined) throw new RangeError('COPY needs a transaction around it');
      return client;
    },
    close: () => {
      signal.removeEventListener('abort', cut);
      return database.close();
    },
  };
}
