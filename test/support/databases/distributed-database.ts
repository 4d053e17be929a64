import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { type DistributeReport, runDistribute } from '../../../src/operate/distribute.ts';
import { openDatabase } from '../../../src/postgres/pool.ts';
import { MIGRATION_BOUNDS } from '../../../src/postgres/run-migrations.ts';
import { ask } from '../postgres/on-connection.ts';
import { OPERATOR } from '../mirror/operator.ts';

/** Few: each test's database is a copy of all of them. */
const SHARDS = 4;

/** Makes a cluster of a database and its namesakes on the workers, as a DBA does, and spreads the mirror over it. */
export async function distributeTo(url: string, schema: string, workers: readonly string[]): Promise<DistributeReport> {
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
    await ask(Object.assign(new URL(node), { pathname }).href, 'create extension citus');
  }
  const nodes = workers.map((worker) => new URL(worker));
  await ask(
    url,
    `select citus_set_coordinator_host('${hostname}', ${port})`,
    ...nodes.map((there) => `select citus_add_node('${there.hostname}', ${there.port})`),
  );
}

/** What the command `distribute` does. */
export async function distributeMirror(url: string, schema = 'mirror'): Promise<DistributeReport> {
  const program = 'research-mirror tests';
  const { db, close } = await openDatabase({ url, schema, program, max: 2, bounds: MIGRATION_BOUNDS });
  const { signal } = new AbortController();
  const context = { db, clock: systemClock, signal, onStep: () => {}, by: OPERATOR };
  try {
    return await runDistribute(context, { dryRun: false, shards: SHARDS });
  } finally {
    await close();
  }
}
