import type pg from 'pg';
import { serverSeconds } from '../support/processor-time.ts';

/** Where a database stands; what a step cost is the difference of two. */
export interface Standing {
  readonly cpuSeconds: number;
  readonly walBytes: number;
  /** Row versions that were replaced or deleted so far, by table: all that vacuum had or has to remove. */
  readonly dead: ReadonlyMap<string, number>;
  /** Row versions that were written or deleted so far, by table. */
  readonly written: ReadonlyMap<string, number>;
  /** All tables with their indexes. */
  readonly bytes: number;
}

/** Makes a step begin as the one before: hint bits are set, and full-page images are due. */
export async function level(client: pg.Client): Promise<void> {
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

export async function standing(client: pg.Client): Promise<Standing> {
  await othersGone(client);
  const { rows } = await client.query<{ id: string; dead: string; written: string; bytes: string }>(
    `select s.relid::text as id, n_tup_upd + n_tup_del as dead, n_tup_ins + n_tup_upd + n_tup_del as written,
       pg_total_relation_size(s.relid) as bytes
     from pg_stat_user_tables s where schemaname not like 'pg_temp%'`,
  );
  const { rows: wal } = await client.query<{ bytes: string }>(`select pg_current_wal_insert_lsn() - '0/0' as bytes`);
  return {
    cpuSeconds: await serverSeconds(client),
    walBytes: Number(wal[0]?.bytes),
    dead: new Map(rows.map(({ id, dead }) => [id, Number(dead)])),
    written: new Map(rows.map(({ id, written }) => [id, Number(written)])),
    bytes: rows.reduce((sum, { bytes }) => sum + Number(bytes), 0),
  };
}

/** The sum of what was added; a table that was made anew meanwhile counts from nothing. */
export function added(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>, only?: string): number {
  let sum = 0;
  for (const [id, count] of after) {
    if (only === undefined || only === id) sum += count - (before.get(id) ?? 0);
  }
  return sum;
}

/** Waits until nobody else is connected: a backend tells its statistics when it ends at the latest. */
async function othersGone(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ count: string }>(
      `select count(*) from pg_stat_activity
       where datname = current_database() and backend_type in ('client backend', 'autovacuum worker')
         and pid <> pg_backend_pid()`,
    );
    if (rows[0]?.count === '0') return;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}
