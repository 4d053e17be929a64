import pg from 'pg';

/** Does something on a connection of its own; tests may take the server away under it. */
export async function onConnection<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  more: pg.ClientConfig = {},
): Promise<T> {
  const client = new pg.Client({ connectionString: url, ...more });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Runs statements one after another. @returns the last one's rows */
export function ask<Row extends pg.QueryResultRow>(url: string, ...texts: readonly string[]): Promise<Row[]> {
  return onConnection(url, async (client) => {
    let rows: Row[] = [];
    for (const text of texts) rows = [await client.query<Row>(text)].flat().at(-1)?.rows ?? [];
    return rows;
  });
}

/** Connections that work in UTC, for a test's own questions. */
export function openPool(url: string, max = 4): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, options: '-c timezone=UTC' });
  pool.on('error', () => {});
  return pool;
}
