import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { Running } from '../../support/processes/program.ts';
import { RealAccount } from '../real/real-account.ts';
import type { Attack, GameResult } from '../support/attack.ts';
import { type KillsLane, playKills } from '../support/play-kills.ts';
import { openTable } from '../support/server.ts';
import { BRAKES, killBlocked, prepareCommitBrake } from './brakes.ts';

/** Earliest moment of a kill after the start. */
const EARLIEST_MS = 50;
/** Latest moment of a kill after the start. */
const LATEST_MS = 3_000;
/** Share of the lives that last longer, so that second proofs come. */
const LONG_LIFE = 0.12;
const LONG_LIFE_MS = 8_000;
/** Share of the other kills whose moment is counted from the first request. */
const READING = 0.5;
/** Share of the kills that wait for a statement that a brake stops. */
const BRAKED = 0.5;
/** How the program is run in a life: the daemon, or a pass of its own. */
const WAYS = { daemon: 3, 'sync --full': 1 };

export const killsAttack: Attack = {
  name: 'kills',
  what: 'SIGKILL of the real daemon at random moments, also while Postgres holds a statement of a commit',
  run: (options) => playKills(options, { usual: 1000, play: playLane }),
};

/**
 * One account whose program is killed again and again, with the source changing meanwhile; then quiet, and everything
 * compared.
 */
export async function playLane({ seed, kills, url, signal }: KillsLane): Promise<GameResult> {
  const table = await openTable(url);
  const account = await RealAccount.open(seed);
  try {
    await prepareCommitBrake(table.db);
    for (let life = 0; life < kills; life += 1) {
      if (signal?.aborted === true) return account.outcome();
      await live(account, table.db, url);
    }
    await account.endWell(table.db, url);
    return account.outcome();
  } finally {
    await account.close();
    await table.close();
  }
}

/** From a start to a SIGKILL. */
async function live(account: RealAccount, db: pg.Pool, url: string): Promise<void> {
  const { draw } = account;
  const way = draw.weighted(WAYS);
  if (draw.chance(0.9)) await account.scheduleFullWalks(db);
  const before = account.requests();
  account.act(true);
  const program = account.begin(way === 'daemon' ? ['start'] : ['sync', '--full'], url);
  const most = draw.chance(LONG_LIFE) ? LONG_LIFE_MS : LATEST_MS;
  const wait = EARLIEST_MS + draw.random() * (most - EARLIEST_MS);
  const over = new AbortController();
  void program.ended.finally(() => over.abort());
  let moment = 'at a moment';
  if (draw.chance(BRAKED)) {
    await firstRequest(account, program);
    await systemClock.sleep(draw.random() * 600);
    const chosen = draw.one(draw.chance(0.4) ? EACH_PAGE : BRAKES) ?? BRAKES[0];
    moment = await killBlocked(account, db, program, chosen);
  } else {
    // A start takes most of that time: part of the lives are as long as that from their first request on.
    if (draw.chance(READING)) await firstRequest(account, program);
    await systemClock.sleep(wait, over.signal).catch(() => {});
  }
  program.child.kill('SIGKILL');
  const { signal } = await program.ended;
  account.act(false);
  const requests = account.requests() - before;
  const end = signal === 'SIGKILL' ? 'killed' : 'ended by itself';
  account.tell(`${way}: ${end} ${moment}, ${requests} requests`);
  account.count(signal === 'SIGKILL' ? 'kills' : 'lives ended by themselves');
  if (signal !== 'SIGKILL') return;
  account.count(requests === 0 ? 'before the first request' : requests < 6 ? 'in the first pages' : 'later on');
}

/** Brakes on what every page writes: there a kill finds a statement. */
const EACH_PAGE = BRAKES.slice(0, 3);
const FIRST_REQUEST_MS = 6_000;

/** Waits until the program reads, at most `FIRST_REQUEST_MS`. */
async function firstRequest(account: RealAccount, { child }: Running): Promise<void> {
  const before = account.requests();
  const reads = (): boolean => account.requests() > before || child.exitCode !== null;
  await eventually('its first request', reads, FIRST_REQUEST_MS).catch(() => {});
}
