import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { type DistributeReport, runDistribute } from '../../../src/operate/distribute.ts';
import { openDatabase } from '../../../src/postgres/pool.ts';
import { MIGRATION_BOUNDS } from '../../../src/postgres/run-migrations.ts';
import { onConnection } from '../postgres/on-connection.ts';
import { OPERATOR } from '../mirror/operator.ts';

/** Few: each test's database is a copy of all of them. */
const SHARDS = 4;

/** Makes a cluster of a database and its namesakes on the workers, as a DBA does, and spreads the mirror over it. */
export async function distributeTo(
  url: string,
  schema: string,
  workers: readonly string[],
): Promise<DistributeReport> {
  await makeCluster(url, workers);
  return distributeMirror(url, schema);
}

/** Whether it is a database of a cluster. */
export async function hasCitus(db: pg.Pool): Promise<boolean> {
  const { rowCount } = await db.query(`select from pg_extension where extname = 'citus'`);
  return rowCount !== 0;
}

export async function makeCluster(url: string, workers: readonly string[]): Promise<void> {
  const { hostname, port, pathname } = new URL(url);
  for (const node of [...workers, url]) {
    const there = new URL(node);
    there.pathname = pathname;
    await ask(there.href, 'create extension citus');
  }
  await ask(url, 'select citus_set_coordinator_host($1, $2)', [hostname, port]);
  for (const worker of workers) {
    const there = new URL(worker);
    await ask(url, 'select citus_add_node($1, $2)', [there.hostname, there.port]);
  }
}

/** What the command `distribute` does. */
export async function distributeMirror(url: string, schema = 'mirror'): Promise<DistributeReport> {
  const program = 'research-mirror tests';
  const database = await openDatabase({ url, schema, program, max: 2, bounds: MIGRATION_BOUNDS });
  const signal = new AbortController().signal;
  try {
    return await runDistribute(
      { db: database.db, clock: systemClock, signal, onStep: () => {}, by: OPERATOR },
      { dryRun: false, shards: SHARDS },
    );
  } finally {
    await database.close();
  }
}

function ask(url: string, text: string, values: readonly string[] = []): Promise<unknown> {
  return onConnection(url, (client) => client.query(text, [...values]));
}
