import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { startEmbedded, type EmbeddedServer } from '../../src/db/embedded/start.ts';
import { systemClock } from '../../src/runtime/clock.ts';

/** Where this run's test databases live (chosen in postgres-server.ts). */
export type TestServer =
  | { readonly kind: 'given'; readonly url: string }
  | { readonly kind: 'embedded'; readonly folder: string };

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
  const server = await serverUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  const locale = encoding === 'UTF8' ? '' : ` locale 'C'`;
  await onServer(server, `create database ${name} template template0 encoding '${encoding}'${locale}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onServer(server, `drop database if exists ${name} with (force)`) };
}

let known: Promise<string> | undefined;

/** URL of the run's server, for tests that need the server itself; its user may create databases. */
export function serverUrl(): Promise<string> {
  const server = inject('testServer');
  known ??=
    server.kind === 'given'
      ? Promise.resolve(server.url)
      : joinTestServer(server.folder).then((at) => at.url);
  return known;
}

/** The embedded server of a run; workers leave without a stop, so it stays for the next file. */
export function joinTestServer(folder: string): Promise<EmbeddedServer> {
  return startEmbedded({
    dataDir: folder,
    port: 'free',
    program: 'research-mirror tests',
    log: { info: () => {}, warn: (message) => process.stderr.write(`${message}\n`) },
    clock: systemClock,
    durable: false,
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '200' },
  });
}

/** Stops a run's server, if it ever started, and removes all of it. */
export async function removeTestServer(folder: string): Promise<void> {
  const elsewhere = await contentOf(join(folder, 'pg18-location'));
  if ((await contentOf(join(folder, 'pg18-password'))) !== undefined) {
    await (await joinTestServer(folder)).stop();
  }
  if (elsewhere !== undefined) await rm(elsewhere.trim(), { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}

function contentOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
