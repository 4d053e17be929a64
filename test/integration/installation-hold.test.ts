import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { releaseSubmissions } from '../../src/db/hold.ts';
import { createInstallation } from '../../src/db/installation-service.ts';
import { beatInstallation } from '../../src/db/installation.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { installed } from '../support/installed.ts';

const scene = installed();
const { run, open, options, queue, states, storeOf, silence } = scene;

describe('a gap without a daemon', () => {
  beforeEach(() => open());

  it('of more than ten minutes holds what is queued, at a start as at a beat', async () => {
    await queue();
    await silence(11 * 60);
    expect((await open())?.why).toMatch(/no daemon was running for 11 minutes/);
    await releaseSubmissions(scene.database.kysely, 'mirror');
    await silence(11 * 60);
    expect(await beatInstallation(scene.database.kysely, 'mirror')).toBeDefined();
    expect(await states()).toEqual(['held']);
  });

  it('of less holds nothing, nor any gap where nothing is queued', async () => {
    await queue();
    await silence(9 * 60);
    expect(await open()).toBeUndefined();
    const [queued] = await storeOf().queued(1);
    await storeOf().claim(queued?.id ?? '');
    await silence(24 * 3_600);
    expect(await open()).toBeUndefined();
    await silence(24 * 3_600);
    expect(await beatInstallation(scene.database.kysely, 'mirror')).toBeUndefined();
  });

  it('lets nothing be claimed before somebody has judged it', async () => {
    await queue();
    const [queued] = await storeOf().queued(1);
    await silence(11 * 60);
    expect(await storeOf().claim(queued?.id ?? '')).toBeUndefined();
    expect(await states()).toEqual(['queued']);
    await beatInstallation(scene.database.kysely, 'mirror');
    expect(await states()).toEqual(['held']);
  });

  it('is what a database is in that nobody has opened', async () => {
    await queue();
    await run('delete from mirror_sync.installation');
    await expect(storeOf().claim('1')).rejects.toThrow(/openInstallation/);
    await expect(beatInstallation(scene.database.kysely, 'mirror')).rejects.toThrow(/openInstallation/);
  });
});

describe('a hold', () => {
  it('and its release: an owner that moves what is queued waits, and moves nothing then', async () => {
    await open();
    await run(`update mirror_sync.installation set held_at = now(), held_why = 'a test'`);
    await queue();
    let moving: Promise<unknown> | undefined;
    await scene.database.kysely.transaction().execute(async (trx) => {
      // A release, up to its commit.
      await sql`update mirror_sync.installation set held_at = null where singleton`.execute(trx);
      moving = storeOf().queued(10);
      for (let waiting: unknown = 0; waiting !== 1;) {
        const [found] = await run(`select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`);
        waiting = found?.['n'];
      }
    });
    expect(await moving).toHaveLength(1);
    expect(await states()).toEqual(['queued']);
  });

  it('that was released while no daemon ran is over for the next one', async () => {
    await open();
    await queue();
    await silence(3_600);
    expect(await open()).toBeDefined();
    await silence(3_600);
    await releaseSubmissions(scene.database.kysely, 'mirror');
    expect(await open()).toBeUndefined();
    expect(await states()).toEqual(['queued']);
  });

  it('is told once by the service that keeps the database company, and its end as well', async () => {
    const said: string[] = [];
    const beats = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let slept = 0;
    const service = createInstallation({
      ...options(),
      log: { warn: (line) => said.push(line), info: (line) => said.push(line) },
      clock: {
        ...systemClock,
        sleep: async (ms, signal) => {
          expect(ms).toBe(60_000);
          slept += 1;
          await Promise.race([
            beats[slept - 1]?.promise ?? new Promise(() => {}),
            new Promise((_resolve, reject) => {
              signal?.addEventListener('abort', () => reject(signal.reason as Error));
            }),
          ]);
          if (slept === 2) await releaseSubmissions(scene.database.kysely, 'mirror');
        },
      },
    });
    await service.start();
    expect(service.hold()).toBeUndefined();
    await queue();
    await silence(11 * 60);
    beats[0]?.resolve();
    await until(() => slept === 2);
    expect(service.hold()).toBeDefined();
    beats[1]?.resolve();
    await until(() => slept === 3);
    expect(service.hold()).toBeUndefined();
    await service.stop();
    expect(said).toEqual([
      expect.stringMatching(/^submissions are held: .*research-mirror submissions release/) as string,
      'submissions are sent again',
    ]);
  });
});

async function until(done: () => boolean): Promise<void> {
  while (!done()) await run('select 1');
}
