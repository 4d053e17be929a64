import { afterEach, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { seeded } from '../../support/random.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

const KILLS = 8;
/** Longest wait (ms) between the page that was chosen for a kill and the kill. */
const SOMEWHERE_MS = 80;

let system: System;
afterEach(() => system.close());

it('a full walk that is killed again and again keeps to the limit: no request is refused, none is repeated in vain', async () => {
  system = await createFrozenSystem({
    limits: 'on',
    limitOther: 120,
    jobs: 6_000,
    latencyMin: 20,
    latencyMax: 100,
    maxLimit: 100,
    badLimit: 'clamped',
  });
  const { control } = system.sandbox;
  const requests = async (): Promise<number> => (await control.counters()).requests;
  const random = seeded(3);
  for (let kill = 0; kill < KILLS; kill += 1) {
    // Between two requests, in the middle of one, or while a page is written.
    const before = await requests();
    const pages = Math.floor(random() * 8);
    const running = system.begin(['sync', '--full', 'research_jobs']);
    await eventually(`${pages} requests`, async () => (await requests()) - before > pages);
    await systemClock.sleep(random() * SOMEWHERE_MS);
    running.child.kill('SIGKILL');
    expect((await running.ended).signal).toBe('SIGKILL');
  }
  // Before the last one, which goes on to the end and then reads again what was read before it began. The first page,
  // which has no cursor, is not counted.
  const asked = (await control.log())
    .filter(({ route, path }) => route === 'GET /v1/research' && path.includes('starting_after='))
    .map(({ path }) => path);
  await system.sync(['--full', 'research_jobs']);
  expect((await control.counters()).rateLimited).toBe(0);
  expect(asked.length - new Set(asked).size).toBeLessThanOrEqual(2 * KILLS);
  // What is superseded is archived: no row was written more than once.
  const again = '(select count(*)::int from mirror.research_jobs_history) as again';
  const { rows } = await system.db.query(`select count(*)::int as count, ${again} from mirror.research_jobs`);
  expect(rows).toEqual([{ count: 6_000, again: 0 }]);
});

it('a second pass without a daemon ends with 3 and says who holds the account', async () => {
  system = await createFrozenSystem({ latencyMin: 1_000, latencyMax: 1_000 });
  const first = system.begin(['sync', '--full']);
  await eventually('its first page', async () => (await system.sandbox.control.counters()).requests > 2);
  const { code, stdout } = await system.run(['sync']);
  expect(code).toBe(3);
  expect(stdout).toContain(`account 1001 is held by "research-mirror sync" (process ${first.child.pid})`);
  expect((await first.ended).code).toBe(0);
});
