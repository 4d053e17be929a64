import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive, runningPostmaster } from '@research-mirror/embedded-postgres/postmaster';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { Outcome } from '../../support/processes/program.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

const PAGE = 500;
const EMBEDDED: Environment = { DATABASE_URL: undefined, MIRROR_PG_PORT: '0' };

let system: System;
afterEach(() => system.close());

/** Twenty pages, each of which takes a while: a stop comes in the middle of them however late it is delivered. */
const SLOW = { jobs: 20 * PAGE, latencyMin: 800, latencyMax: 800 };

async function pagesAsked(): Promise<{ readonly path: string; readonly status: number | null }[]> {
  return (await system.sandbox.control.log()).filter(({ route }) => route === 'GET /v1/research');
}

/** Waits for a page of research jobs that is on the wire, not answered. */
function untilAsked(): Promise<boolean> {
  return eventually('a page on the wire', async () =>
    (await pagesAsked()).some(({ status }) => status === null),
  );
}

/** A stop that takes longer is broken off (src/main.ts). */
const STOP_BOUND = 8_000;

/**
 * Sends the signal in the middle of a page. A machine that is so busy that the stop is broken off at its bound shows
 * nothing of a stop in peace: then it is tried again.
 * @param alsoBefore is asked right before the signal
 */
async function stopInPage<T>(
  args: readonly string[],
  env: Environment,
  signal: NodeJS.Signals,
  alsoBefore: () => Promise<T>,
): Promise<{ readonly outcome: Outcome; readonly before: T }> {
  for (let attempt = 1; ; attempt += 1) {
    system = await createSystem(SLOW);
    const program = system.begin(args, env);
    await untilAsked();
    const before = await alsoBefore();
    await untilAsked();
    program.child.kill(signal);
    const begin = performance.now();
    const outcome = await program.ended;
    if (performance.now() - begin < STOP_BOUND || attempt === 5) return { outcome, before };
    await system.close();
  }
}

/** Rows of all pages that were asked for; a poll that came in between reads one of them again. */
async function rowsAsked(): Promise<number> {
  const rows = new Set((await pagesAsked()).map(({ path }) => path)).size * PAGE;
  expect(rows).toBeLessThan(SLOW.jobs);
  return rows;
}

/** A clean stop: the account has no owner, and no process is left in the list. A stop that is broken off leaves both. */
async function expectPeace(): Promise<void> {
  expect((await system.db.query('select 1 from mirror_sync.account where owner is not null')).rows).toEqual(
    [],
  );
  expect((await system.db.query('select 1 from mirror_sync.process')).rows).toEqual([]);
}

const jobs = (): Promise<number> => system.one('select count(*)::int from mirror.research_jobs');

async function embeddedJobs(): Promise<number> {
  const { stdout } = await system.run(['sql', '--json', 'select count(*) from research_jobs'], EMBEDDED);
  return (JSON.parse(stdout) as { rows: { count: number }[] }).rows[0]?.count ?? Number.NaN;
}

/** Process ID of the embedded server. */
async function embeddedServer(): Promise<number> {
  const data = join(system.cwd, 'data');
  const folder = await readFile(join(data, 'pg18-location'), 'utf8').catch(() => data);
  return (await runningPostmaster(join(folder.trim(), 'pg18')))?.pid ?? Number.NaN;
}

describe('a stop in the middle of a page', () => {
  it.each([
    ['SIGINT', 'start', 0],
    ['SIGTERM', 'sync', 130],
  ] as const)('writes that page and ends: %s to %s', async (signal, command, code) => {
    const args = [command, ...(command === 'sync' ? ['--full'] : [])];
    const { outcome } = await stopInPage(args, {}, signal, () => Promise.resolve());
    expect({ code: outcome.code, signal: outcome.signal }).toEqual({ code, signal: null });
    expect(await jobs()).toBe(await rowsAsked());
    // The next one begins at once.
    await expectPeace();
  });

  it('ends the embedded Postgres, too', async () => {
    const { outcome, before: pid } = await stopInPage(['start'], EMBEDDED, 'SIGINT', async () => {
      const server = await embeddedServer();
      expect(isAlive(server)).toBe(true);
      return server;
    });
    expect(outcome).toMatchObject({ code: 0, signal: null });
    expect(isAlive(pid)).toBe(false);
    expect(await embeddedJobs()).toBe(await rowsAsked());
  });

  it.each([
    ['start', 0],
    ['sync', 130],
  ] as const)('does not wait for a page that never comes: %s', async (command, code) => {
    system = await createSystem({ latencyMin: 60_000, latencyMax: 60_000 });
    const program = system.begin([command]);
    await eventually('a request on the wire', async () => {
      return (await system.sandbox.control.counters()).inFlight > 0;
    });
    program.child.kill('SIGTERM');
    expect(await program.ended).toMatchObject({ code, signal: null });
    await expectPeace();
    expect(await jobs()).toBe(0);
  });

  it('ends at once when it is asked a second time', async () => {
    system = await createSystem({ latencyMin: 60_000, latencyMax: 60_000 });
    const program = system.begin(['start']);
    await eventually('a request on the wire', async () => {
      return (await system.sandbox.control.counters()).inFlight > 0;
    });
    program.child.kill('SIGINT');
    // A terminal may deliver one Ctrl-C twice: only a later one is a second one.
    const insist = setInterval(() => program.child.kill('SIGINT'), 700);
    expect(await program.ended).toMatchObject({ code: 130, signal: null });
    clearInterval(insist);
  });
});
