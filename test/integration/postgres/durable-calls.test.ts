import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runningPostmaster } from '@research-mirror/embedded-postgres/postmaster';
import { startEmbedded, type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { migrateTo } from '../../support/databases/migrated-database.ts';
import { removeTestServer } from '../../support/postgres/postgres.ts';

let folder: string;
let server: EmbeddedServer;
let url: string;

/** A server that answers a commit long before it is on disk, and restarts by itself after a crash. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'research-mirror-crashing-'));
  await chmod(folder, 0o755);
  server = await startEmbedded({
    dataDir: folder,
    port: 'free',
    program: 'research-mirror tests',
    log: { info: () => {}, warn: () => {} },
    clock: systemClock,
    settings: { synchronous_commit: 'off', wal_writer_delay: '10s', autovacuum: 'off' },
  });
  url = server.url;
  await migrateTo(url, 'mirror');
  await onServer(url, `insert into mirror_sync.account (_user_id, created_at) values (7, now())`);
});
afterAll(async () => {
  await server.stop();
  await removeTestServer(folder);
});

/**
 * Crashes an embedded server as a loss of power would: SIGKILL for all of its processes, so that what was in memory
 * only is gone.
 */
async function crashServer(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity');
  const place = await client.query<{ data_directory: string }>('show data_directory');
  const postmaster = await runningPostmaster(place.rows[0]?.data_directory ?? '');
  if (postmaster === undefined) throw new RangeError('no server runs there');
  for (const pid of [postmaster.pid, ...rows.map((row) => row.pid)]) process.kill(pid, 'SIGKILL');
  await client.end().catch(() => {});
}

/** Runs statements, each in its own transaction, on a new connection. Waits for a server that restarts. */
async function onServer(url: string, ...texts: string[]): Promise<Record<string, unknown>[]> {
  const client = await eventually('a connection to the server', async () => {
    const next = new pg.Client({ connectionString: url });
    next.on('error', () => {});
    await next.connect();
    return next;
  });
  let rows: Record<string, unknown>[] = [];
  try {
    for (const text of texts) ({ rows } = await client.query<Record<string, unknown>>(text));
  } finally {
    await client.end();
  }
  return rows;
}

const states = (): Promise<unknown> =>
  onServer(url, 'select submission_id as id, state from mirror.submissions order by 1');

/** Crashes right after the call. An ordinary commit after it is lost, which shows that the crash was real. */
async function crashAfter(call: string): Promise<void> {
  await onServer(url, 'checkpoint');
  await onServer(url, call, 'create table public.lost ()');
  await crashServer(url);
  expect(await onServer(url, `select to_regclass('public.lost') as lost`)).toEqual([{ lost: null }]);
}

describe('a crash of a server with synchronous_commit = off', () => {
  it('loses nothing that submit() and cancel_submission() have answered', async () => {
    await crashAfter(`select mirror.submit('research', '{}')`);
    expect(await states()).toEqual([{ id: '1', state: 'queued' }]);
    await crashAfter(`select mirror.cancel_submission(1)`);
    expect(await states()).toEqual([{ id: '1', state: 'cancelled' }]);
  });

  it('is prevented in those calls alone: other settings, and the session’s, stay as they are', async () => {
    const mode = `select current_setting('synchronous_commit') as mode`;
    const call = `select mirror.submit('research', '{}')`;
    expect(await onServer(url, 'begin', call, mode)).toEqual([{ mode: 'on' }]);
    expect(await onServer(url, call, mode)).toEqual([{ mode: 'off' }]);
    const local = `set synchronous_commit = local`;
    expect(await onServer(url, local, 'begin', call, mode)).toEqual([{ mode: 'local' }]);
  });
});
