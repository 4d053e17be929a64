import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { SandboxControl } from '@research-mirror/sandbox/testing/control-client';
import { ROOT } from '../rules/source-files.ts';

/**
 * `node test/support/databases/make-mirror-of-0.2.0.ts CHECKOUT PG_BIN`: writes mirror-of-0.2.0.sql beside it. CHECKOUT
 * is one of commit 0c2b0a46 (version 0.2.0) after `npm ci`; PG_BIN is the folder of a PostgreSQL 15 with pg_dump. That
 * program mirrors two accounts of its own emulated service: keys and secrets are that service's.
 */
const [checkout = '', pgBin = ''] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'mirror-of-0.2.0-'));
await chmod(folder, 0o755);
const log = { info: () => {}, warn: (line: string) => process.stderr.write(`${line}\n`) };
const server = await startEmbedded({
  dataDir: folder,
  pgBin,
  port: 'free',
  program: 'make',
  log,
  clock: systemClock,
});
const db = new pg.Client({ connectionString: server.url });
await db.connect();
const children: ChildProcess[] = [];

const port = String(await nonEphemeralPort());
const controlPort = String(await nonEphemeralPort());
const webhookPort = String(await nonEphemeralPort());
const base: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  DATABASE_URL: server.url,
  MIRROR_API_URL: `http://127.0.0.1:${port}`,
  MIRROR_API_KEY: 'key-of-1001,key-of-1002',
  MIRROR_HTTP_PORT: '0',
  MIRROR_BUDGET_SHARE: '1',
  MIRROR_SETTLE: '1s',
};

function begin(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const launcher = join(resolve(checkout), 'bin/research-mirror.js');
  const child = spawn(process.execPath, [launcher, ...args], {
    cwd: folder,
    env: { ...base, ...env },
    stdio: 'inherit',
  });
  children.push(child);
  return child;
}

async function run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<void> {
  await once(begin(args, env), 'exit');
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const count = async (from: string): Promise<number> =>
  Number((await db.query<{ n: string }>(`select count(*) as n from ${from}`)).rows[0]?.n);

try {
  const still = ['jobs', 'bulk-jobs', 'lists', 'list-items', 'watch-entries'].flatMap((name) => [
    `--new-${name}-per-minute`,
    '0',
  ]);
  const sizes = [
    '--jobs',
    '14',
    '--bulk-jobs',
    '2',
    '--lists',
    '3',
    '--items-per-list',
    '4',
    '--watchlist',
    '5',
  ];
  const changes = ['--score-changes-per-minute', '0', '--watch-changes-per-minute', '0'];
  const keys = [
    '--keys',
    'key-of-1001=1001,key-of-1002=1002',
    '--limits',
    'off',
    '--register-secret',
    'same',
  ];
  begin(['sandbox', '--port', port, '--control-port', controlPort, ...keys, ...sizes, ...still, ...changes]);
  const control = new SandboxControl(`http://127.0.0.1:${controlPort}`);
  await eventually('the emulated service', () => control.counters().catch(() => undefined));
  await run(['sync', '--full']);

  const idsOf = async (user: number, collection: 'research_jobs' | 'watchlist'): Promise<string[]> => {
    const key = collection === 'watchlist' ? 'id' : 'job_id';
    return (await control.truth({ user, collection })).map((text) =>
      String((JSON.parse(text) as Record<string, unknown>)[key]),
    );
  };
  for (const user of [1001, 1002]) {
    const jobs = await idsOf(user, 'research_jobs');
    const [entry = '', kept = ''] = await idsOf(user, 'watchlist');
    const list = (await control.truth({ user, collection: 'lists' })).map((text) =>
      String((JSON.parse(text) as { list_id: number }).list_id),
    );
    const item = (await control.truth({ user, collection: 'list_items', list: list[0] ?? '' })).map((text) =>
      String((JSON.parse(text) as { id: number }).id),
    );
    await control.mutate(
      ...jobs.slice(0, 5).map(
        (id) =>
          ({
            op: 'update',
            user,
            collection: 'research_jobs',
            id,
            fields: { note: `first ${id}` },
          }) as const,
      ),
      { op: 'update', user, collection: 'watchlist', id: kept, fields: { score: 12.5 } },
      {
        op: 'insert',
        user,
        collection: 'research_jobs',
        id: '7',
        source: '{"job_id":7,"status":"odd","cost":1e999999}',
      },
      {
        op: 'insert',
        user,
        collection: 'research_jobs',
        id: '8',
        source: '{"job_id":8,"status":"odd","cost":12345678901234567890.125,"Note":"a"}',
      },
      { op: 'delete', user, collection: 'research_jobs', id: jobs[9] ?? '' },
      { op: 'delete', user, collection: 'watchlist', id: entry },
      { op: 'delete', user, collection: 'list_items', list: list[0] ?? '', id: item[2] ?? '' },
      { op: 'delete', user, collection: 'lists', id: list[1] ?? '' },
    );
  }
  for (let pass = 0; pass < 3; pass += 1) {
    await run(['sync', '--full', '--accept-deletions']);
    await pause(1_200);
  }

  const daemon = begin(['start'], {
    MIRROR_POLL_CRON: 'never',
    MIRROR_PUBLIC_URL: `http://127.0.0.1:${webhookPort}`,
    MIRROR_WEBHOOK_PORT: webhookPort,
  });
  await eventually('both registrations', async () => (await count('mirror.webhook').catch(() => 0)) === 2);
  for (const user of [1001, 1002]) {
    const jobs = await idsOf(user, 'research_jobs');
    for (const id of jobs.slice(0, 3))
      await control.mutate({
        op: 'update',
        user,
        collection: 'research_jobs',
        id,
        fields: { note: `second ${id}`, status: 'failed' },
      });
    await run([
      'submit',
      'research',
      '--user',
      String(user),
      '--data',
      '{"company":"Example"}',
      '--key',
      `k-${user}`,
    ]);
    await run(['submit', 'list_analyze', '--user', String(user), '--id', '999999', '--data', '{}']);
  }
  await eventually('events', async () => (await count('mirror.events')) >= 6);
  await eventually(
    'what they told',
    async () => (await count(`mirror.research_jobs where note like 'second%'`)) === 6,
  );
  await control.change({ faultReset: 1, faultRoutes: 'posts' });
  await run(['submit', 'list', '--user', '1001', '--data', '{"name":"lost"}']);
  await control.change({ faultReset: 0 });
  await stop(daemon);

  // What waits, and what was taken back.
  await db.query(`select mirror.submit('list', '{"name":"waits"}', null, 1002, 'waits')`);
  await db.query(`select mirror.cancel_submission(mirror.submit('enrich', '{"a":1}', null, 1001))`);

  const dump = [
    server.url,
    '--no-owner',
    '--no-privileges',
    '--no-comments',
    '--inserts',
    '--rows-per-insert=200',
    '--schema=mirror',
    '--schema=mirror_sync',
  ];
  const { stdout } = await promisify(execFile)(join(pgBin, 'pg_dump'), dump, { maxBuffer: 64 * 1024 * 1024 });
  const head =
    '-- A mirror as research-mirror 0.2.0 left it. Made by make-mirror-of-0.2.0.ts; never to be edited.\n';
  // psql's own commands, which no server knows.
  const text =
    head +
    stdout
      .replaceAll(/^\\(?:un)?restrict .*\n/gm, '')
      .replaceAll(/^--\n-- .*\n--\n/gm, '')
      .replaceAll(/\n{3,}/g, '\n\n');
  await writeFile(join(ROOT, 'test/support/databases/mirror-of-0.2.0.sql'), text);
} finally {
  await db.end();
  await Promise.all(
    children.filter((child) => child.exitCode === null && child.signalCode === null).map(stop),
  );
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
