import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { TESTED } from '@research-mirror/embedded-postgres/binaries';
import { dropTemplates } from '../support/postgres/postgres.ts';
import { clusterAt } from '../support/postgres/postgres-server.ts';
import { makeCluster } from '../support/databases/distributed-database.ts';
import { type Cluster, createSite } from '../support/databases/cluster.ts';

const WORKERS = 2;
/** Of each node; each database has a process of its own on each. */
const SETTINGS = {
  shared_preload_libraries: 'citus',
  max_worker_processes: '64',
  max_connections: '300',
  full_page_writes: 'off',
};

/** Where Debian's packages put programs, and what says that an extension is there. */
const PROGRAMS = '/usr/lib/postgresql';
const EXTENSION = (major: string): string => `/usr/share/postgresql/${major}/extension/citus.control`;

let stop: () => Promise<void> = async () => {};

/**
 * Vitest's set-up of the project `citus`: the cluster of `CITUS_URL` (its coordinator's, as a superuser of all nodes),
 * else one of this run's own. Fails where there is neither: these tests are never skipped.
 */
export async function setup(project: TestProject): Promise<void> {
  const { CITUS_URL: given = '' } = process.env;
  const server = await clusterAt(given === '' ? await startCluster() : given);
  const before = stop;
  stop = async () => {
    await dropTemplates([server.url, ...server.workers], server.templates);
    await before();
  };
  project.provide('testServer', server);
}

export const teardown = (): Promise<void> => stop();

/** A coordinator and its workers, by the newest PostgreSQL of the machine's that has the extension. */
async function startCluster(): Promise<string> {
  const major = (existsSync(PROGRAMS) ? readdirSync(PROGRAMS) : [])
    .filter((each) => Number(each) >= TESTED.oldest && Number(each) <= TESTED.newest)
    .filter((each) => existsSync(EXTENSION(each)))
    .toSorted()
    .at(-1);
  if (major === undefined) {
    throw new Error(
      'there is no Citus here: set CITUS_URL to a coordinator, or install the extension for a PostgreSQL of this machine',
    );
  }
  const site = await createSite(undefined, join(PROGRAMS, major, 'bin'));
  stop = () => site.remove();
  const startNode = async (): Promise<Cluster> => {
    const cluster = await site.cluster();
    // Nodes sign in to each other without a password.
    await cluster.write('pg_hba.conf', 'local all all trust\nhost all all 127.0.0.1/32 trust\n');
    await cluster.start(SETTINGS);
    return cluster;
  };
  const { url } = await startNode();
  const workers: string[] = [];
  for (let worker = 0; worker < WORKERS; worker += 1) workers.push((await startNode()).url);
  await makeCluster(url, workers);
  return url;
}
