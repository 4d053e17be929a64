import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { StartedPostgreSqlContainer } from '@testcontainers/postgresql';
import type { TestProject } from 'vitest/node';
import { isAlive } from '@research-mirror/embedded-postgres/postmaster';
import { dropTemplates, type GivenServer, removeTestServer, type TestServer } from './postgres.ts';
import { QUICK_FOLDERS, quickFolder } from './quick-folder.ts';
import { ask } from './on-connection.ts';

/**
 * Vitest's global set-up: decides which server the run's test databases live on, once. None is started before a test
 * asks for one, so unit tests do not pay for it. 1. `TEST_DATABASE_URL`: that server; its user must be allowed to
 * create databases, and must need its password 2. `TEST_CITUS`: URL of the coordinator of a Citus cluster, whose user is
 * a superuser on all nodes: every mirror of a test is distributed 3. `TEST_POSTGRES=testcontainers`: a container of
 * `TEST_POSTGRES_IMAGE` (default postgres:18); without Docker the run fails 4. otherwise the embedded one, in a
 * folder of this run's own
 */
export async function setup(project: TestProject): Promise<void> {
  server = await chooseServer();
  project.provide('testServer', server);
}

let server: TestServer | undefined;
let container: StartedPostgreSqlContainer | undefined;
let folder: string | undefined;

async function chooseServer(): Promise<TestServer> {
  const templates = templatePrefix();
  const { TEST_DATABASE_URL: url = '', TEST_CITUS: citus = '' } = process.env;
  const { TEST_POSTGRES: kind = '', TEST_POSTGRES_IMAGE: image } = process.env;
  if (citus !== '') return clusterAt(citus);
  if (url !== '') return { kind: 'given', url, templates, workers: [] };
  if (kind === 'testcontainers') {
    // Loaded only where wanted: it is large.
    const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
    container = await new PostgreSqlContainer(image ?? 'postgres:18')
      .withCommand(['postgres', '-c', 'fsync=off', '-c', 'max_connections=200', '-c', 'listen_addresses=*'])
      .start();
    return { kind: 'given', url: container.getConnectionUri(), templates, workers: [] };
  }
  if (kind !== '' && kind !== 'embedded') {
    throw new Error(`TEST_POSTGRES is ${kind}: it may be embedded or testcontainers`);
  }
  await sweep();
  folder = join(await quickFolder(), `${PREFIX}${process.pid}`);
  await mkdir(folder, { recursive: true });
  // PostgreSQL's own user must be able to pass where tests run as root.
  await chmod(folder, 0o755);
  return { kind: 'embedded', folder, templates, workers: [] };
}

export async function teardown(): Promise<void> {
  if (server?.kind === 'given' && container === undefined) {
    await dropTemplates([server.url, ...server.workers], server.templates);
  }
  await container?.stop();
  if (folder !== undefined) await removeTestServer(folder);
}

const templatePrefix = (): string => `template_${randomBytes(6).toString('hex')}_`;

/** A Citus cluster, by its coordinator, as the server of tests. */
export async function clusterAt(coordinator: string): Promise<GivenServer> {
  const nodes = await ask<{ hostname: string; port: string }>(
    coordinator,
    `select nodename as hostname, nodeport::text as port from pg_dist_node
     where groupid <> 0 and isactive and noderole = 'primary'`,
  );
  const workers = nodes.map((node) => Object.assign(new URL(coordinator), node).href);
  return { kind: 'given', url: coordinator, templates: templatePrefix(), workers };
}

const PREFIX = 'research-mirror-test-';

/** Ends what killed runs left behind. */
async function sweep(): Promise<void> {
  for (const folder of QUICK_FOLDERS) {
    for (const name of await readdir(folder).catch(() => [])) {
      const pid = /^research-mirror-test-(\d+)$/.exec(name)?.[1];
      if (pid === undefined || isAlive(Number(pid))) continue;
      await removeTestServer(join(folder, name)).catch(() => {
        // Another user's, or another run is at it.
      });
    }
  }
}
