import pg from 'pg';
import { resolveConnection, type ConnectionOptions } from '../connection/pool.ts';
import { databaseError } from '../connection/sql-state.ts';

/**
 * Whether something between us and the server pools connections: then the process that answers is not the one that the
 * connection named at its start.
 * @throws DatabaseUnavailable, Unusable
 */
export async function isPooled(connection: ConnectionOptions): Promise<boolean> {
  const client = new pg.Client(await resolveConnection(connection));
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    // Of the driver's, which its types leave out.
    const { processID: named } = client as pg.Client & { readonly processID: number | null };
    return rows[0]?.pid !== named;
  } catch (error) {
    throw databaseError(error);
  } finally {
    await client.end().catch(() => {});
  }
}
