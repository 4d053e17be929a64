import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isAlive } from '@research-mirror/embedded-postgres/postmaster';
import { kill } from '../support/databases/cluster.ts';
import { migrateTo } from '../support/databases/migrated-database.ts';
import { ask } from '../support/postgres/on-connection.ts';
import { createTestDatabases, type TestDatabase } from '../support/postgres/postgres.ts';

const run = promisify(execFile);

/**
 * A worker of the cluster that runs on this machine, to be killed.
 * @param url the worker's, as a superuser. Needs root, and the server on this machine.
 */
export async function workerServer(url: string) {
  const [found] = await ask<{ data: string; bin: string }>(
    url,
    `select current_setting('data_directory') as data, setting as bin from pg_config where name = 'BINDIR'`,
  );
  if (found === undefined) throw new Error(`no answer of ${url}`);
  const { data, bin } = found;
  return {
    /** SIGKILL to the server and all its sessions, as when the machine fails. */
    kill: async (): Promise<void> => {
      const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0]);
      const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)]);
      const all = [pid, ...stdout.split('\n').map(Number)].filter((each) => each > 1);
      for (const each of all) kill(each);
      // The next server starts only where the last one's process is gone.
      while (all.some(isAlive)) await new Promise(setImmediate);
    },
    /** Resolves once it is there again. */
    start: async (): Promise<void> => {
      // With the settings that it had on its command line, as the user whose files it has.
      const [, ...options] = (await readFile(join(data, 'postmaster.opts'), 'utf8')).trim().split(' ');
      const { uid, gid } = await stat(data);
      const command = ['-D', data, '-l', `${data}.log`, '-o', options.join(' '), '-w', 'start'];
      await run(join(bin, 'pg_ctl'), command, { cwd: '/', uid, gid });
    },
  };
}

/** From now on sessions of this database take `clock_timestamp()` for five seconds later than it is. */
export async function setClockAhead(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await ask(
    url,
    `set citus.enable_ddl_propagation = off;
    create schema ahead;
    create function ahead.clock_timestamp() returns timestamptz language sql volatile
      as $$ select pg_catalog.clock_timestamp() + interval '5 s' $$;
    alter database ${name} set search_path = ahead, pg_catalog, public`,
  );
}

/**
 * A mirror on the coordinator that is not distributed yet, with a database of its name on each worker.
 * @param migrated brings the database to a version, by default this one
 */
export async function createPlainMirror(
  migrated = (url: string): Promise<unknown> => migrateTo(url, 'mirror'),
): Promise<TestDatabase> {
  const database = await createTestDatabases();
  await migrated(database.url);
  return database;
}
