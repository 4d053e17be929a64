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
/** No page comes. */
const HANGING = { latencyMin: 60_000, latencyMax: 60_000 };

const pagesAsked = async () => (await system.sandbox.control.log()).filter(({ route }) => route === 'GET /v1/research');

/** Waits for a page of research jobs that is on the wire, not answered. */
const untilAsked = (): Promise<boolean> =>
  eventually('a page on the wire', async () => (await pagesAsked()).some(({ status }) => status === null));

/** A stop that takes longer is broken off (src/main.ts). */
const STOP_BOUND = 8_000;

/**
 * Sends the signal in the middle of a page. A machine that is so busy that the stop is broken off at its bound shows
 * nothing of a stop in peace: then it is tried again.
 * @param alsoBefore is asked right before the signal
 */
async function stopInPage(
  args: readonly string[],
  env: Environment,
  signal: NodeJS.Signals,
  alsoBefore: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    system = await createSystem(SLOW);
    const program = system.begin(args, env);
    await untilAsked();
    await alsoBefore();
    await untilAsked();
    program.child.kill(signal);
    const begin = performance.now();
    const outcome = await program.ended;
    if (performance.now() - begin < STOP_BOUND || attempt === 5) return outcome;
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
  for (const left of ['account where owner is not null', 'process'])
    expect((await system.db.query(`select 1 from mirror_sync.${left}`)).rows).toEqual([]);
}

const jobs = (): Promise<number> => system.one('select count(*)::int from mirror.research_jobs');

/** Process ID of the embedded server. */
async function embeddedServer(): Promise<number> {
  const data = join(system.cwd, 'data');
  const folder = await readFile(join(data, 'pg18-location'), 'utf8').catch(() => data);
  return (await runningPostmaster(join(folder.trim(), 'pg18')))?.pid ?? Number.NaN;
}

describe('a stop in the middle of a page', () => {
  it.each([
    ['SIGINT', ['start'], 0],
    ['SIGTERM', ['sync', '--full'], 130],
  ] as const)('writes that page and ends: %s to %j', async (signal, args, code) => {
    expect(await stopInPage(args, {}, signal)).toMatchObject({ code, signal: null });
    expect(await jobs()).toBe(await rowsAsked());
    // The next one begins at once.
    await expectPeace();
  });

  it('ends the embedded Postgres, too', async () => {
    let server = Number.NaN;
    const outcome = await stopInPage(['start'], EMBEDDED, 'SIGINT', async () => {
      server = await embeddedServer();
      expect(isAlive(server)).toBe(true);
    });
    expect(outcome).toMatchObject({ code: 0, signal: null });
    expect(isAlive(server)).toBe(false);
    const { stdout } = await system.run(['sql', '--csv', 'select count(*) from research_jobs'], EMBEDDED);
    expect(Number(stdout.split(/\s+/)[1])).toBe(await rowsAsked());
  });

  it.each([
    ['does not wait for a page that never comes: start', 'start', 'once', 0],
    ['does not wait for a page that never comes: sync', 'sync', 'once', 130],
    ['ends at once when it is asked a second time', 'start', 'again', 130],
  ] as const)('%s', async (_, command, asked, code) => {
    system = await createSystem(HANGING);
    const program = system.begin([command]);
    await eventually('a request on the wire', async () => (await system.sandbox.control.counters()).inFlight > 0);
    program.child.kill('SIGINT');
    // A terminal may deliver one Ctrl-C twice: only a later one is a second one.
    const insist = asked === 'again' ? setInterval(() => program.child.kill('SIGINT'), 700) : undefined;
    expect(await program.ended).toMatchObject({ code, signal: null });
    clearInterval(insist);
    if (asked === 'again') return;
    await expectPeace();
    expect(await jobs()).toBe(0);
  });
});
