import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbedded, type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';
import { crashServer, onServer } from '../../../support/databases/crash-server.ts';
import { migrateTo } from '../../../support/databases/migrated-database.ts';
import { removeTestServer } from '../../../support/postgres/postgres.ts';

let folder: string;
let server: EmbeddedServer;
let url: string;

/** A server that answers a commit long before it is on disk, and comes back by itself after a crash. */
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

const states = (): Promise<unknown> =>
  onServer(url, 'select submission_id as id, state from mirror.submissions order by 1');

/** A crash right after the call; what was committed behind it as everything else is, is lost: it was a real one. */
async function crashAfter(call: string): Promise<void> {
  await onServer(url, 'checkpoint');
  await onServer(url, call, 'create table public.lost ()');
  await crashServer(url);
  expect(await onServer(url, `select to_regclass('public.lost') as lost`)).toEqual([{ lost: null }]);
}

describe('a crash of a server with synchronous_commit = off takes nothing back', () => {
  it('of what submit() and cancel_submission() have answered', async () => {
    await crashAfter(`select mirror.submit('research', '{}')`);
    expect(await states()).toEqual([{ id: '1', state: 'queued' }]);
    await crashAfter(`select mirror.cancel_submission(1)`);
    expect(await states()).toEqual([{ id: '1', state: 'cancelled' }]);
  });

  it('and leaves other settings than off, and those of the session, as they are', async () => {
    const mode = `select current_setting('synchronous_commit') as mode`;
    const call = `select mirror.submit('research', '{}')`;
    expect(await onServer(url, 'begin', call, mode)).toEqual([{ mode: 'on' }]);
    expect(await onServer(url, call, mode)).toEqual([{ mode: 'off' }]);
    const local = `set synchronous_commit = local`;
    expect(await onServer(url, local, 'begin', call, mode)).toEqual([{ mode: 'local' }]);
  });
});
