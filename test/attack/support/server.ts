import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { programVersion } from '../../../src/app/program-files.ts';
import { openDatabase, type Database } from '../../../src/db/connection/database.ts';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { migrate, MIGRATION_BOUNDS } from '../../../src/db/migrations/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { distributeMirror, hasCitus } from '../../support/databases/distributed-database.ts';
import { ROOT } from '../../support/rules/source-files.ts';
import { ask } from '../../support/postgres/on-connection.ts';

/** A database server for the attacks that do not attack it. */
export interface Server {
  /** URL of a database of its own on it, empty. */
  database(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a server, and stops it when `work` is over. */
export async function withServer<T>(work: (server: Server) => Promise<T>): Promise<T> {
  const server = await startServer();
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** An embedded one in a temporary folder, which does not wait for the disk. */
async function startServer(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'research-mirror-attack-'));
  // PostgreSQL's own user must be able to pass where attacks run as root.
  await chmod(folder, 0o755);
  const server = await startEmbedded({
    dataDir: folder,
    port: 'free',
    program: 'research-mirror attack',
    log: { info: () => {}, warn: (message) => process.stderr.write(`${message}\n`) },
    clock: systemClock,
    durable: false,
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '200' },
  });
  let databases = 0;
  return {
    async database() {
      databases += 1;
      const name = `attack_${databases}`;
      await ask(server.url, `create database ${name} template template0`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A migrated database, with a pool for the program's own queries and one for the checks; one of a Citus cluster is
 * distributed.
 */
export async function openTable(
  url: string,
): Promise<{ database: Database & { url: string }; db: pg.Pool; close(): Promise<void> }> {
  const schema = 'mirror';
  const first = await openDatabase({
    url,
    schema,
    program: 'research-mirror attack',
    bounds: MIGRATION_BOUNDS,
  });
  await migrate({
    db: first.db,
    folder: join(ROOT, 'migrations'),
    version: programVersion(),
    clock: systemClock,
  });
  await first.close();
  const db = new pg.Pool({ connectionString: url, max: 10, options: '-c timezone=UTC' });
  db.on('error', () => {});
  if (await hasCitus(db)) await distributeMirror(url, schema);
  const database = await openDatabase({ url, schema, program: 'research-mirror attack', max: 30 });
  return {
    database: { ...database, url },
    db,
    close: async () => {
      await Promise.all([db.end(), database.close()]);
    },
  };
}
