import pg from 'pg';
import { runningPostmaster } from '@research-mirror/embedded-postgres/postmaster';
import { eventually } from '@research-mirror/runtime/testing/eventually';

/**
 * Crashes an embedded server as a loss of power would: SIGKILL for all of its processes, so that what was in memory
 * only is gone.
 */
export async function crashServer(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity');
  const place = await client.query<{ data_directory: string }>('show data_directory');
  const postmaster = await runningPostmaster(place.rows[0]?.data_directory ?? '');
  if (postmaster === undefined) throw new RangeError('no server runs there');
  for (const pid of [postmaster.pid, ...rows.map((row) => row.pid)]) process.kill(pid, 'SIGKILL');
  await client.end().catch(() => {});
}

/** Runs statements, each committed by itself, on a connection of its own; waits for a server that is coming back. */
export async function onServer(url: string, ...texts: string[]): Promise<Record<string, unknown>[]> {
  const client = await eventually('a connection to the server', async () => {
    const next = new pg.Client({ connectionString: url });
    next.on('error', () => {});
    await next.connect();
    return next;
  });
  let rows: Record<string, unknown>[] = [];
  try {
    for (const text of texts) ({ rows } = await client.query<Record<string, unknown>>(text));
  } finally {
    await client.end();
  }
  return rows;
}
