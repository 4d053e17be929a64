import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { type EmbeddedOptions, startEmbedded, type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';
import { ask, onConnection } from './on-connection.ts';

interface Places {
  /** Databases that the run makes once and copies begin with it. */
  readonly templates: string;
  /** URLs of the workers, where the server is the coordinator of a Citus cluster; else none. */
  readonly workers: readonly string[];
}

/** A server that runs already, by the URL of a user who may create databases. */
export type GivenServer = Places & { readonly kind: 'given'; readonly url: string };

/** Where this run's test databases live (chosen in postgres-server.ts). */
export type TestServer = GivenServer | (Places & { readonly kind: 'embedded'; readonly folder: string });

declare module 'vitest' {
  interface ProvidedContext {
    testServer: TestServer;
  }
}

/** A fresh, empty database of its own. */
export interface TestDatabase {
  readonly url: string;
  /** Ends what is still connected to it, and removes it. */
  readonly drop: () => Promise<void>;
}

/** The provider of every database that tests use: one for each test file, in milliseconds. */
export async function createTestDatabase(encoding: 'UTF8' | 'SQL_ASCII' = 'UTF8'): Promise<TestDatabase> {
  const locale = encoding === 'UTF8' ? '' : ` locale 'C'`;
  return createDatabase(`template template0 encoding '${encoding}'${locale}`, [await serverUrl()]);
}

/** The same; on Citus, on each node: no cluster yet. */
export async function createTestDatabases(): Promise<TestDatabase> {
  return createDatabase(`template template0 encoding 'UTF8'`, await allNodes());
}

/**
 * The same as a copy of one that is made once in a run; on Citus, a copy on each node: together they are a cluster, too.
 * @param what is in it; letters, digits and _ only
 * @param fill is given the empty one's URL, and closes its connections
 */
export async function copyTestDatabase(what: string, fill: (url: string) => Promise<void>): Promise<TestDatabase> {
  const nodes = await allNodes();
  const name = `${inject('testServer').templates}${what}`;
  await onConnection(await serverUrl(), async (client) => {
    // Held by this connection: other workers wait until it is there.
    await client.query('select pg_advisory_lock(hashtext($1))', [name]);
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount !== 0) return;
    const made = await createDatabase(`template template0 encoding 'UTF8'`, nodes);
    await fill(made.url);
    const old = new URL(made.url).pathname.slice(1);
    // The coordinator last: there others look whether it is all there.
    for (const node of nodes.toReversed()) {
      await onConnection(node, async (there) => {
        // What a node of Citus does in the background keeps a connection to each database.
        await there.query(`alter database ${old} allow_connections false`);
        await there.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${old}'`);
        await there.query(`alter database ${old} rename to ${name}`);
      });
    }
  });
  return createDatabase(`template ${name} strategy file_copy`, nodes);
}

async function createDatabase(how: string, nodes: readonly string[]): Promise<TestDatabase> {
  const [server = ''] = nodes;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await Promise.all(nodes.map((node) => ask(node, `create database ${name} ${how}`)));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => onEachNode(nodes, `drop database if exists ${name} with (force)`),
  };
}

/** URLs of the server, and of the workers behind it. */
async function allNodes(): Promise<readonly string[]> {
  return [await serverUrl(), ...inject('testServer').workers];
}

/** Removes what `copyTestDatabase` copied. */
export async function dropTemplates(nodes: readonly string[], templates: string): Promise<void> {
  for (const node of nodes) {
    const found = `select datname from pg_database where starts_with(datname, '${templates}')`;
    for (const { datname } of await ask<{ datname: string }>(node, found))
      await ask(node, `drop database if exists ${datname} with (force)`);
  }
}

let known: Promise<{ readonly url: string }> | undefined;

/** URL of the run's server, for tests that need the server itself; its user may create databases. */
export async function serverUrl(): Promise<string> {
  const server = inject('testServer');
  known ??= server.kind === 'given' ? Promise.resolve(server) : joinTestServer(server.folder);
  return (await known).url;
}

/** The embedded server of a run; workers leave without a stop, so it stays for the next file. */
export function joinTestServer(folder: string): Promise<EmbeddedServer> {
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '200' };
  return startTestServer(folder, { settings });
}

/** An embedded server that does not wait for the disk. */
export function startTestServer(dataDir: string, more: Partial<EmbeddedOptions> = {}): Promise<EmbeddedServer> {
  return startEmbedded({
    dataDir,
    port: 'free',
    program: 'research-mirror tests',
    log: { info: () => {}, warn: (message) => process.stderr.write(`${message}\n`) },
    clock: systemClock,
    durable: false,
    ...more,
  });
}

/** Stops a run's server, if it ever started, and removes all of it. */
export async function removeTestServer(folder: string): Promise<void> {
  const elsewhere = await readFile(join(folder, 'pg18-location'), 'utf8').catch(() => undefined);
  if (existsSync(join(folder, 'pg18-password'))) await (await joinTestServer(folder)).stop();
  if (elsewhere !== undefined) await rm(elsewhere.trim(), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}

/** Runs a statement on each server, one after another. */
export async function onEachNode(nodes: readonly string[], statement: string): Promise<void> {
  for (const node of nodes) await ask(node, statement);
}
