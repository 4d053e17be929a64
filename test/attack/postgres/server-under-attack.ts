import { execFile } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { messageOf } from '@research-mirror/runtime/message';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { onConnection } from '../../support/postgres/on-connection.ts';
import { openFolder } from '../../support/postgres/quick-folder.ts';

const run = promisify(execFile);

/** Enough for a cluster and some WAL, in MB. */
const DISK_MB = 260;

export type ServerUnderAttack = Awaited<ReturnType<typeof startServerUnderAttack>>;

/**
 * A durable server of one game's own, which comes back by itself on the same port when it was killed.
 * @param ownDisk puts it on a small disk of its own
 * @throws Error that says why such a disk is not to be had here
 */
export async function startServerUnderAttack(ownDisk: boolean) {
  const folder = await openFolder('research-mirror-attacked');
  const unmount = ownDisk ? await mountDisk(folder) : async (): Promise<void> => {};
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  const server = await startEmbedded({
    dataDir,
    port: 'free',
    program: 'research-mirror attack',
    log: { info: () => {}, warn: () => {} },
    clock: systemClock,
    ...(ownDisk ? { settings: { max_wal_size: '48MB', min_wal_size: '32MB', wal_recycle: 'off' } } : {}),
  });
  const ask = <T extends pg.QueryResultRow>(query: string): Promise<T[]> =>
    onConnection(server.url, async (client) => (await client.query<T>(query)).rows, {
      connectionTimeoutMillis: 5_000,
    });
  return {
    url: server.url,
    /** Kills the postmaster; the backends follow it. */
    async kill(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
      const [row] = await ask<{ pid: string }>(`select split_part(pg_read_file('postmaster.pid'), chr(10), 1) as pid`);
      process.kill(Number(row?.pid), signal);
    },
    /** Waits until it answers again. */
    back: () => eventually('the server to come back', async () => (await ask('select 1')).length === 1, 60_000),
    /** Ends every other connection. */
    terminateBackends: () =>
      ask(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where pid <> pg_backend_pid() and backend_type = 'client backend'`,
      ),
    /** Fills its disk to the last byte; only on a disk of its own. @returns what makes room again */
    async fillDisk(): Promise<() => Promise<void>> {
      const ballast = join(folder, 'ballast');
      const file = await open(ballast, 'w');
      try {
        for (const size of [1 << 20, 1 << 12]) {
          const block = Buffer.alloc(size, 1);
          for (;;) await file.write(block);
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
      return () => rm(ballast);
    },
    async stop(): Promise<void> {
      await server.stop();
      await unmount();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function mountDisk(folder: string): Promise<() => Promise<void>> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new Error('a disk that is full: needs root on Linux, to mount a small tmpfs');
  }
  const options = `size=${DISK_MB}m,mode=755`;
  await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).catch((cause: unknown) => {
    throw new Error(`a disk that is full: no tmpfs can be mounted here (${messageOf(cause)})`, { cause });
  });
  return async () => void (await run('umount', ['-l', folder]));
}
