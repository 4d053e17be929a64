import { chmodSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { startEmbedded, type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { earlier } from '../../support/postgres/earlier.ts';
import { makeFolder, runProgram, startProgram, type Running } from '../../support/processes/program.ts';
import { missingLine, shownBelow } from '../../support/readme/readme.ts';
import { ask as askAt } from '../../support/postgres/on-connection.ts';

let folder: ReturnType<typeof makeFolder>;
let demo: Running | undefined;
let server: EmbeddedServer | undefined;
beforeEach(() => {
  folder = makeFolder();
  // As root, PostgreSQL's own user can reach it then: nothing is left elsewhere.
  chmodSync(folder.path, 0o755);
});
afterEach(async () => {
  await leave();
  demo?.child.kill('SIGINT');
  await demo?.ended;
  folder.remove();
});

const dataDir = (): string => join(folder.path, 'data', 'demo');

async function start(nodeArguments: readonly string[] = []): Promise<Running> {
  demo = startProgram(['demo'], { cwd: folder.path, nodeArguments });
  await demo.until('status page ');
  return demo;
}

async function stop(): Promise<void> {
  demo?.child.kill('SIGINT');
  expect(await demo?.ended).toMatchObject({ code: 0, signal: null });
}

/** Asks the demo's database, as its superuser. */
async function query<Row extends pg.QueryResultRow>(statement: string): Promise<Row[]> {
  server ??= await startEmbedded({
    dataDir: dataDir(),
    port: 'free',
    program: 'a test',
    log: { info: () => {}, warn: () => {} },
    clock: systemClock,
  });
  return askAt<Row>(server.url, statement);
}

async function leave(): Promise<void> {
  await server?.stop();
  server = undefined;
}

/** Ten minutes pass, as far as limits and webhook are concerned: what was registered shows by then, or never will. */
async function tenMinutesPass(): Promise<void> {
  const columns = ['registering_at', 'registered_at', 'checked_at', 'secret_at', 'verified_at'];
  const sets = columns.map((column) => `${column} = ${earlier(column, '10 minutes')}`).join(', ');
  await query(`update mirror_sync.registration set ${sets}`);
  await query(`update mirror_sync.own_url set registered_at = ${earlier('registered_at', '10 minutes')}`);
  await query(`update mirror_sync.slot_block set valid_until = ${earlier('valid_until', '10 minutes')}, freed = '{}'`);
}

/** Waits until the daemon has asked the service for its webhook since it was started. */
async function lookedAfter(): Promise<unknown> {
  const looked = await eventually('the daemon to look after its webhook', async () => {
    const [found] = await query<{ state: string; replaced: number }>(
      `select state, cardinality(replaced_at) as replaced from mirror_sync.registration
       where state in ('registered', 'stopped') and checked_at > now() - interval '5 minutes'`,
    );
    return found;
  });
  return looked;
}

async function report(): Promise<unknown> {
  return JSON.parse((await runProgram(['status', '--json'], { cwd: folder.path })).stdout);
}

function sendTarget(url: string, target: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    );
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString().split('\r\n', 1)[0] ?? ''));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed without an answer')));
  });
}

describe('the demo', () => {
  it('shows what it promises, and is healthy however often it is started again within an hour', async () => {
    const first = await start();
    const [, service = ''] = /emulated service +(http:\S+)/.exec(first.output()) ?? [];
    expect(await sendTarget(service, '//')).toBe('HTTP/1.1 401 Unauthorized');
    // No query before this: a reader would hold up the columns for new fields.
    await first.until('list_items 1,');
    // As the README shows it, where it does.
    expect(missingLine(shownBelow('npm run demo') ?? '', first.output())).toBeUndefined();
    // Companies that are on a list and were researched, some of them watched, too.
    await eventually('the companies of all collections', async () => {
      const [found] = await query<{ joined: string; watched: string }>(
        `select count(*) as joined, count(*) filter (where watched) as watched
         from mirror.companies where research_jobs > 0 and list_items > 0`,
      );
      return Number(found?.joined) > 100 && Number(found?.watched) > 5;
    });
    const [ages] = await query(
      `select count(distinct created_at::date) > 12 as days, min(created_at) > now() - interval '15 days' as young,
         count(distinct status) >= 3 as states from mirror.research_jobs`,
    );
    expect(ages).toEqual({ days: true, young: true, states: true });
    for (let restart = 0; restart <= 5; restart += 1) {
      if (restart > 0) {
        await stop();
        await tenMinutesPass();
        await start();
      }
      expect(await lookedAfter()).toEqual({ state: 'registered', replaced: 0 });
      // The list that the service deletes answers 404 for a moment before it is known to be gone.
      await eventually('health', async () => ((await report()) as { healthy: boolean }).healthy);
    }
    await stop();
  });

  it('leaves no PostgreSQL behind where a defect ends it', async () => {
    const defect = 'process.on("SIGUSR2", () => { throw new Error("a defect") })';
    const running = await start(['--import', `data:text/javascript,${encodeURIComponent(defect)}`]);
    running.child.kill('SIGUSR2');
    expect(await running.ended).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('research-mirror: a defect\n') as string,
    });
    expect(await embeddedState(dataDir())).toBe('stopped');
  });
});
