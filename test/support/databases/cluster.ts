import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type pg from 'pg';
import { findBinaries, run } from '@research-mirror/embedded-postgres/binaries';
import { ensureDataDirectory } from '@research-mirror/embedded-postgres/data-directory';
import { connectOrStart } from '@research-mirror/embedded-postgres/connect-or-start';
import { findLocation, SYSTEM_FOLDER, type Location } from '@research-mirror/embedded-postgres/location';
import { isAlive, runningPostmaster } from '@research-mirror/embedded-postgres/postmaster';
import { stopServer } from '@research-mirror/embedded-postgres/server-process';
import { messageOf } from '@research-mirror/runtime/message';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { openFolder, quickFolder } from '../postgres/quick-folder.ts';
import { onConnection } from '../postgres/on-connection.ts';

const PASSWORD = 'test';

/** Of every server: it can be a primary, a standby and a backup's source, and need not survive a loss of power. */
const SETTINGS: Settings = {
  wal_level: 'replica',
  max_wal_senders: '4',
  wal_keep_size: '512MB',
  shared_buffers: '32MB',
  fsync: 'off',
  wal_init_zero: 'off',
  wal_recycle: 'off',
  // Among its files: a crash leaves nothing elsewhere.
  dynamic_shared_memory_type: 'mmap',
};

/**
 * What makes a crash lose commits that were answered: nothing but a full buffer or a commit that insists takes them
 * to the operating system before ten seconds have passed.
 */
export const LAZY_COMMITS: Settings = {
  synchronous_commit: 'off',
  wal_writer_delay: '10s',
  wal_writer_flush_after: '1GB',
  wal_buffers: '16MB',
  bgwriter_lru_maxpages: '0',
  autovacuum: 'off',
};

export type Settings = Readonly<Record<string, string>>;

export type Site = Awaited<ReturnType<typeof createSite>>;

/**
 * A folder in which clusters of PostgreSQL lie side by side, for tests that take servers away and bring others.
 * @param programsOf gives the servers other programs than the package's (stepping-clock.ts)
 * @param pgBin the machine's programs in place of the package's
 */
export async function createSite(programsOf?: (location: Location, home: string) => Promise<string>, pgBin?: string) {
  const folder = await openFolder('research-mirror-clusters', await quickFolder());
  const binaries = await findBinaries(pgBin);
  const location = await findLocation(folder, process.getuid?.() === 0, SYSTEM_FOLDER, binaries);
  const home = join(dirname(location.pgData), 'clusters');
  await mkdir(home, { recursive: true });
  await giveTo(location, home);
  const bin = (await programsOf?.(location, home)) ?? location.bin;
  const clusters = new Set<Cluster>();
  const add = (name: string): Cluster => {
    const cluster = new Cluster({ ...location, bin, pgData: join(home, name) }, () => add(`copy-${clusters.size}`));
    clusters.add(cluster);
    return cluster;
  };
  return {
    /** A new one, stopped. */
    async cluster() {
      const cluster = add(`cluster-${clusters.size}`);
      await ensureDataDirectory(cluster.location, PASSWORD, false, systemClock, undefined);
      return cluster;
    },
    /** Ends what still runs, and removes everything. */
    async remove() {
      await Promise.all([...clusters].map((cluster) => cluster.remove()));
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Files of one PostgreSQL cluster, and the server that runs on them at times, always on the same port. */
export class Cluster {
  readonly location: Location;
  readonly #beside: () => Cluster;
  #port: number | undefined;

  /** @param beside names a cluster that is to be made beside this one */
  constructor(location: Location, beside: () => Cluster) {
    this.location = location;
    this.#beside = beside;
  }

  /** Of a server that was started. */
  get port(): number {
    if (this.#port === undefined) throw new Error(`${this.location.pgData} was never started`);
    return this.#port;
  }

  get url(): string {
    return urlAt(this.port);
  }

  /** Starts the server, after a crash with its recovery, and waits until it answers. */
  async start(settings: Settings = {}): Promise<void> {
    this.#port ??= await nonEphemeralPort();
    const { session } = await connectOrStart(
      {
        location: this.location,
        password: PASSWORD,
        logFile: `${this.location.pgData}.log`,
        settings: { ...SETTINGS, ...settings },
        program: 'research-mirror tests',
        clock: systemClock,
        log: { info: () => {}, warn: () => {} },
      },
      this.#port,
      undefined,
    );
    // Not waited for: it would not keep a program alive that has nothing else to do.
    void session.close();
  }

  async stop(): Promise<void> {
    const running = await runningPostmaster(this.location.pgData);
    if (running !== undefined) await stopServer(running.pid, systemClock);
  }

  /**
   * The server is gone at once with all of its processes, as when its machine is: what they had not given to the
   * operating system yet is lost.
   */
  async crash(): Promise<void> {
    const running = await runningPostmaster(this.location.pgData);
    if (running === undefined) return;
    const others = await this.ask<{ pid: number }>('select pid from pg_stat_activity').catch(() => []);
    for (const pid of [running.pid, ...others.map(({ pid }) => pid)]) kill(pid);
    // The others stay in the list of processes until init has looked after them; none of them runs any more.
    await isGone(running.pid);
  }

  /** The rows of one query, on a connection of its own. */
  async ask<T extends pg.QueryResultRow>(query: string, database = 'postgres'): Promise<T[]> {
    return onConnection(urlAt(this.port, database), async (client) => (await client.query<T>(query)).rows, {
      connectionTimeoutMillis: 5_000,
    });
  }

  /** A copy of its files as they are, beside it: of a server that is stopped or was killed. */
  async copyFiles(): Promise<Cluster> {
    return this.#copy('', this.#beside());
  }

  /**
   * A copy of the running server's files that recovers to the moment of the copy's end: a base backup, as
   * pg_basebackup takes it.
   */
  async backUp(): Promise<Cluster> {
    const copy = this.#beside();
    await onConnection(this.url, async (client) => {
      await client.query(`select pg_backup_start('test', true)`);
      await this.#copy('', copy);
      await rm(join(copy.location.pgData, 'postmaster.pid'), { force: true });
      const { rows } = await client.query<{ labelfile: string }>('select * from pg_backup_stop(false)');
      await copy.write('backup_label', rows[0]?.labelfile ?? '');
      // With the records up to the end of the backup.
      await this.#copy('pg_wal', copy);
    });
    return copy;
  }

  /** Puts `from`'s files in the place of its own; both servers are stopped. */
  async becomes(from: Cluster): Promise<void> {
    await rm(this.location.pgData, { recursive: true });
    await from.#copy('', this);
  }

  /** Writes a file among its own. */
  async write(name: string, content: string): Promise<void> {
    const file = join(this.location.pgData, name);
    await writeFile(file, content);
    await giveTo(this.location, file);
  }

  /** Files of a server that is not needed any more. */
  async remove(): Promise<void> {
    const running = await runningPostmaster(this.location.pgData);
    if (running === undefined) {
      // A killed server that was not started again leaves the segment of shared memory that kept others from its files.
      const text = await readFile(join(this.location.pgData, 'postmaster.pid'), 'utf8').catch(() => '');
      const [, segment] = (text.split('\n')[6] ?? '').trim().split(/\s+/);
      if (segment !== undefined) await run('ipcrm', ['-m', segment], this.location.user).catch(() => {});
    } else {
      // Without a checkpoint; it cleans up after itself.
      process.kill(running.pid, 'SIGQUIT');
      await isGone(running.pid);
    }
    await rm(this.location.pgData, { recursive: true, force: true });
    await rm(`${this.location.pgData}.log`, { force: true });
  }

  async #copy(part: string, to: Cluster): Promise<Cluster> {
    const source = join(this.location.pgData, part);
    const target = join(to.location.pgData, part);
    await mkdir(target, { recursive: true, mode: 0o700 });
    await giveTo(to.location, target);
    try {
      await run('cp', ['-Rp', `${source}/.`, target], this.location.user);
    } catch (error) {
      // A running server removes files meanwhile: none that the copy needs.
      const lines = messageOf(error).split('\n');
      if (!lines.every((line) => line.includes('No such file or directory'))) throw error;
    }
    return to;
  }
}

export function urlAt(port: number, database = 'postgres'): string {
  return `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;
}

async function giveTo({ user }: Location, path: string): Promise<void> {
  if (user !== undefined) await chown(path, user.uid, user.gid);
}

/** Ends a process that may have ended. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const isGone = (pid: number) => eventually('the postmaster to be gone', () => !isAlive(pid));
