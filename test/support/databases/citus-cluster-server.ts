import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { freePort, isPortFree } from '@research-mirror/embedded-postgres/ports';
import { dropTemplates } from '../postgres/postgres.ts';
import { clusterAt } from '../postgres/postgres-server.ts';
import { ROOT } from '../rules/source-files.ts';

/** Starts a coordinator and workers on this machine; it lies beside the checkout, or not. */
const TOOL = resolve(ROOT, '..', 'shared', 'tools', 'citus-offline', 'citus-offline');
const WORKERS = 2;

const run = promisify(execFile);
let stop: () => Promise<void> = async () => {};

/**
 * Vitest's set-up of the project `citus`: the cluster of `CITUS_URL` (its coordinator's, as a superuser of all nodes),
 * else one of this run's own. Fails where there is neither: these tests are never skipped.
 */
export async function setup(project: TestProject): Promise<void> {
  const { CITUS_URL: given } = process.env;
  const url = given === undefined || given === '' ? await startCluster() : given;
  const server = await clusterAt(url);
  const before = stop;
  stop = async () => {
    await dropTemplates([server.url, ...server.workers], server.templates);
    await before();
  };
  project.provide('testServer', server);
}

export async function teardown(): Promise<void> {
  await stop();
}

async function startCluster(): Promise<string> {
  if (!existsSync(TOOL)) {
    throw new Error(`there is no Citus here: set CITUS_URL to a coordinator, or put its tool at ${TOOL}`);
  }
  const folder = await mkdtemp(join(tmpdir(), 'research-mirror-citus-'));
  // The user postgres must be able to pass.
  await chmod(folder, 0o755);
  const first = await firstOfFreePorts(1 + WORKERS);
  const up = async (): Promise<string> => {
    const { stdout } = await run(TOOL, ['up', folder, String(WORKERS), String(first)]);
    return stdout.trim();
  };
  const down = (): Promise<unknown> => run(TOOL, ['down', folder]);
  stop = async () => {
    await down();
    await rm(folder, { recursive: true, force: true });
  };
  const url = await up();
  for (let node = 0; node <= WORKERS; node += 1) {
    const there = new URL(url);
    there.port = String(first + node);
    // Each database has a process of its own on each node.
    await settings(there.href, ['max_worker_processes = 64', 'fsync = off', 'full_page_writes = off']);
  }
  await down();
  return up();
}

async function settings(url: string, all: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const each of all) await client.query(`alter system set ${each}`);
  } finally {
    await client.end();
  }
}

/** The first of so many ports in a row that nobody listens on. */
async function firstOfFreePorts(count: number): Promise<number> {
  for (;;) {
    const first = await freePort();
    const others = Array.from({ length: count - 1 }, (_, index) => isPortFree(first + 1 + index));
    if ((await Promise.all(others)).every(Boolean)) return first;
  }
}
