import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { openPool } from '../../support/postgres/on-connection.ts';
import { brake, BRAKES } from '../kills/brakes.ts';
import { RealAccount } from '../real/real-account.ts';
import { type Attack, type GameResult, playGames, whileRoundsLast } from '../support/attack.ts';
import { openTable } from '../support/server.ts';
import { type ServerUnderAttack, startServerUnderAttack } from './server-under-attack.ts';

/** What befalls the server in one game, while the daemon runs. */
const BLOWS = { SIGKILL: 1, SIGQUIT: 1, terminate: 2, slow: 3, stuck: 0.4 };
const COUNT = 6;
/** Longer than any statement may take: the daemon has to give the page up, and to read it again. */
const STUCK_MS = 7_500;
/** How long a full disk stays so. */
const FULL_MS = 6_000;

const LANES = 2;
/** One game of this many has a disk that gets full. */
const DISK_EVERY = 4;

export const postgresAttack: Attack = {
  name: 'postgres',
  what: 'Postgres killed and started again, its connections ended, its statements slow and stuck, its disk full',
  async run(options) {
    let noDisk: string | undefined;
    const report = await playGames(options, {
      lanes: LANES,
      more: whileRoundsLast(options.size, DISK_EVERY),
      play: async (seed) => {
        const disk = noDisk === undefined && seed % DISK_EVERY === 0;
        try {
          return await playPostgres(seed, disk);
        } catch (error) {
          // Where no such disk can be made that part can't be played: it is told, and is no pass.
          if (!disk || !messageOf(error).startsWith('a disk that is full:')) throw error;
          noDisk = messageOf(error);
          return playPostgres(seed, false);
        }
      },
    });
    return noDisk === undefined ? report : { ...report, notPlayed: [...report.notPlayed, noDisk] };
  },
};

/** A daemon whose database server is killed, cut off, slowed, stuck; or whose disk is full. */
async function playPostgres(seed: number, disk: boolean): Promise<GameResult> {
  await using ends = new AsyncDisposableStack();
  const server = ends.adopt(await startServerUnderAttack(disk), (each) => each.stop());
  const { url } = server;
  await (await openTable(url)).close();
  const db = ends.adopt(openPool(url), (each) => each.end());
  const account = ends.adopt(await RealAccount.open(seed), (each) => each.close());
  const daemon = account.begin(['start'], url);
  await eventually('some pages', () => account.requests() > 3);
  account.act(true);
  if (disk) await fillUp(account, server, db);
  else for (let blow = 0; blow < COUNT; blow += 1) await strike(account, server, db);
  account.act(false);
  await server.back();
  account.claim(daemon.child.exitCode === null, `the daemon ended by itself: ${daemon.output().slice(-300)}`);
  await account.stop(daemon);
  await account.endWell(db, url);
  return account.outcome();
}

async function strike(account: RealAccount, server: ServerUnderAttack, db: pg.Pool): Promise<void> {
  const { draw } = account;
  await systemClock.sleep(200 + draw.random() * 1_500);
  const blow = draw.weighted(BLOWS);
  account.tell(blow);
  account.count(blow);
  if (blow === 'SIGKILL' || blow === 'SIGQUIT') {
    await server.kill(blow);
    await systemClock.sleep(300);
    await server.back();
  } else if (blow === 'terminate') {
    await server.terminateBackends();
  } else {
    // All is read again meanwhile, so that there is something to hold.
    await account.scheduleFullWalks(db);
    const braking = await brake(db, draw.one(BRAKES)).catch(() => undefined);
    await systemClock.sleep(blow === 'stuck' ? STUCK_MS : draw.random() * 2_000);
    await braking?.release();
  }
}

/** The server's disk is full for a while: rows can't be written, perhaps the server goes down; then there is room again. */
async function fillUp(account: RealAccount, server: ServerUnderAttack, db: pg.Pool): Promise<void> {
  const makeRoom = await server.fillDisk();
  account.count('disk full');
  const until = performance.now() + FULL_MS;
  while (performance.now() < until) {
    try {
      // Rows of the test's own, so that what space the server had kept is used up.
      await db.query('create table if not exists public.attack (x text)');
      await db.query(`insert into public.attack select repeat(md5(i::text), 100) from generate_series(1, 2000) as i`);
    } catch (error) {
      account.tell(messageOf(error));
      account.count('writes that a full disk refused');
    }
    await systemClock.sleep(100);
  }
  await makeRoom();
  await server.back();
  await db.query('drop table if exists public.attack');
}
