import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { onConnection, openPool } from '../../test/support/postgres/on-connection.ts';
import { spawnTestSandbox } from '../../test/support/processes/spawn-sandbox.ts';
import type { TestSandbox } from '@research-mirror/sandbox/testing/sandbox';

/** What every bench plays on: a Postgres server (durable settings), a folder, and sandboxes as processes. */
export interface Stage {
  /** A folder of the bench's own: the programs run in it. */
  readonly folder: string;
  sandbox(options: Partial<SandboxOptions>): Promise<TestSandbox>;
  /** A fresh database. */
  database(): Promise<string>;
}

/**
 * Sets the stage, plays, and clears all away, also after Ctrl-C.
 * @param postgres URL of a server on which databases may be made; '': an embedded one
 * @param settings of the embedded one, beside its own
 */
export async function onStage(
  postgres: string,
  play: (stage: Stage) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'research-mirror-bench-'));
  const clearing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  let server = postgres;
  let databases = 0;
  const stage: Stage = {
    folder,
    async sandbox(options) {
      const sandbox = await spawnTestSandbox(options);
      clearing.push(() => sandbox.stop());
      return sandbox;
    },
    async database() {
      if (server === '') {
        const embedded = await startEmbedded({
          dataDir: join(folder, 'postgres'),
          port: 'free',
          program: 'bench',
          log: { info: () => {}, warn: (message) => process.stderr.write(`${message}\n`) },
          clock: systemClock,
          settings,
        });
        clearing.push(() => embedded.stop());
        server = embedded.url;
      }
      databases += 1;
      const name = `bench_${process.pid}_${databases}`;
      await withClient(server, (client) => client.query(`create database ${name} template template0`));
      const admin = server;
      clearing.push(() => withClient(admin, (client) => client.query(`drop database if exists ${name} with (force)`)));
      const url = new URL(server);
      url.pathname = `/${name}`;
      return url.href;
    },
  };
  const interrupted = new Promise<never>((_, reject) => {
    process.once('SIGINT', () => reject(new Error('interrupted')));
  });
  try {
    await Promise.race([play(stage), interrupted]);
  } finally {
    for (const clear of clearing.toReversed()) await clear();
  }
}

export function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  return onConnection(url, use);
}

/** As `withClient`, for what wants a pool. */
export async function withPool<T>(url: string, use: (db: pg.Pool) => Promise<T>): Promise<T> {
  const db = openPool(url, 2);
  try {
    return await use(db);
  } finally {
    await db.end();
  }
}
