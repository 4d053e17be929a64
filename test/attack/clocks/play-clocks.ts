import { withOrigin } from '../failovers/origin.ts';
import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { isFaketimeTested, stepClock, withOwnClock } from '../../support/clocks/stepping-clock.ts';
import type { Cluster } from '../../support/databases/cluster.ts';
import { openPool } from '../../support/postgres/on-connection.ts';
import type { Running } from '../../support/processes/program.ts';
import { Bystanders } from '../failovers/bystanders.ts';
import { RealAccount } from '../real/real-account.ts';
import { type Attack, type GameResult, noFindings, playGames } from '../support/attack.ts';

const SMALL = { jobs: 60, bulkJobs: 4, lists: 3, itemsPerList: 8, watchlist: 15, limitSequence: 3_000 };
const MOST_STEPS = 3;
const HOUR = 3_600_000;
/** Units of a step, in ms; one is drawn, and a number of it. */
const UNITS = { seconds: 1_000, minutes: 60_000, hours: HOUR, days: 24 * HOUR };
const WEIGHTS = { seconds: 2, minutes: 3, hours: 4, days: 1 };
/** State of the daemon's process while the clock steps, with its weight. */
const PROCESS = { alive: 8, stopped: 1, dead: 2 };
/**
 * A heartbeat notices a step, an account that broke is opened again 5 s later, and a dead owner's is taken after 12 s.
 * The slots that a killed daemon had reserved count as used for a window of the rate limit more.
 */
const SOON_MS = 150_000;
/** What a killed daemon was sending is given up after the longest that a request may take. */
const PATIENCE_MS = 240_000;
const STARTED = 'mirroring into';
const GIVEN_UP = 'games given up, in which libfaketime crashed the server';

const GAMES = 200;
/** Most of a game is waiting: for heartbeats, and for what a killed daemon was sending. */
const LANES = 6;

export const clocksAttack: Attack = {
  name: 'clocks',
  what: 'the clock of the database steps, by seconds to weeks, back and ahead, under a daemon that is alive, stopped or dead',
  async run(options) {
    if (!isFaketimeTested()) {
      const notPlayed = ['libfaketime is not installed (apt-get install faketime)'];
      return { counts: {}, findings: noFindings(), notes: [], notPlayed };
    }
    return withOrigin(
      (origin) =>
        playGames(options, {
          lanes: LANES,
          more: (begun) => begun < GAMES,
          play: (seed) => playClocks(seed, origin),
        }),
      withOwnClock,
    );
  },
};

/** One account whose database's clock steps under the daemon, a consumer and a user who queues operations. */
export async function playClocks(seed: number, origin: Cluster): Promise<GameResult> {
  const account = await RealAccount.open(seed, { ...SMALL, maxLimit: 5 + (seed % 20) });
  const cluster = await origin.copyFiles();
  await stepClock(cluster, 0);
  await cluster.start();
  const db = openPool(cluster.url);
  try {
    const failure = await play(account, cluster, db).then(
      () => undefined,
      (error: unknown) => error,
    );
    const lines = failure === undefined && account.findings.length === 0 ? [] : await complaints(cluster);
    // libfaketime allocates memory in a signal handler, which may crash the server: it restarts.
    if (lines.some((line) => /was terminated by signal (?:6|11)\b/.test(line))) {
      return { seed, what: '', findings: [], counts: { [GIVEN_UP]: 1 }, trace: [] };
    }
    for (const line of lines) account.tell(line);
    if (failure !== undefined) throw failure;
    return account.outcome();
  } finally {
    await account.close();
    await db.end();
    // At once: by libfaketime a server may hang when it is asked to stop.
    await cluster.crash();
    await cluster.remove();
  }
}

/** What the server's log says of sessions and processes that it ended. */
async function complaints({ location: { pgData } }: Cluster): Promise<string[]> {
  const log = await readFile(`${pgData}.log`, 'utf8');
  return log.split('\n').filter((line) => /FATAL|PANIC|terminated|LOG: {2}server/.test(line));
}

async function play(account: RealAccount, cluster: Cluster, db: pg.Pool): Promise<void> {
  const { draw } = account;
  const bystanders = new Bystanders(db, account);
  const run = (...args: string[]): Running => account.begin(args, cluster.url);
  let aheadMs = 0;
  /** The clock went ahead while no daemon could know of it: what is queued may be on hold. */
  let wasUnseen = false;

  /** Everything was polled within the last minute, by the clock as it is now. */
  const readsOn = async (what: string): Promise<void> => {
    const polled = async (): Promise<boolean> => {
      const { rows } = await db.query<{ polled: boolean | null }>(
        `select bool_and(polled_at between now() - interval '90 s' and now() and next_poll_at < now() + interval '2 min')
           as polled from mirror.freshness`,
      );
      return rows[0]?.polled === true;
    };
    const begun = performance.now();
    try {
      await eventually(what, polled, SOON_MS);
      account.tell(`${what}: ${Math.round(performance.now() - begun)} ms`);
    } catch (error) {
      const { rows } = await db.query<Record<string, unknown>>(
        'select collection, state, polled_at, next_poll_at, last_error, now() from mirror.freshness',
      );
      const said = daemon.output().slice(-800);
      account.claim(false, `${messageOf(error)}: ${JSON.stringify(rows)}: ${said}`);
    }
  };

  /** No daemon runs, and the last poll lies ahead: that must not count as healthy. */
  const isUnhealthy = async (): Promise<void> => {
    const { rows } = await db.query(`select from mirror.freshness where polled_at > now() + interval '2 minutes'`);
    if (rows.length === 0) return;
    const { code } = await run('status').ended;
    account.claim(code === 1, `status ended with ${code}, though the last poll lies in the future`);
    account.count('looks at status');
  };

  const step = async (): Promise<void> => {
    await account.scheduleFullWalks(db).catch(() => {});
    await systemClock.sleep(draw.random() * 2_000);
    const process = draw.weighted(PROCESS);
    const unit = draw.weighted(WEIGHTS);
    // Further ahead, or back; or to what it should be.
    const byMs = Math.round(UNITS[unit] * (20 + draw.random() * 40) * (unit === 'seconds' ? 1 : 1 / 20));
    const isFurther = aheadMs === 0 || draw.chance(0.6);
    const next = isFurther ? aheadMs + (draw.chance(0.6) ? -byMs : byMs) : 0;
    const steppedBy = next - aheadMs;
    aheadMs = next;
    const what = `${Math.round(steppedBy / 1_000)} s, the daemon is ${process}`;
    account.tell(`the clock steps by ${what}`);
    account.count(steppedBy < 0 ? 'steps back' : 'steps ahead');
    if (process === 'dead') {
      daemon.child.kill('SIGKILL');
      await daemon.ended;
    }
    if (process === 'stopped') daemon.child.kill('SIGSTOP');
    wasUnseen ||= process !== 'alive' && steppedBy > 300_000;
    await stepClock(cluster, aheadMs);
    if (process === 'stopped') {
      await systemClock.sleep(draw.random() * 5_000);
      daemon.child.kill('SIGCONT');
    }
    if (process === 'dead') {
      if (steppedBy < -600_000 && draw.chance(0.5)) await isUnhealthy();
      daemon = run('start');
      // Before that a signal kills it.
      await daemon.until(STARTED);
    }
    await readsOn(`polls after a step by ${what}`);
  };

  let daemon = run('start');
  await daemon.until(STARTED);
  if (draw.chance(0.7)) await readsOn('the first load');
  await bystanders.during(async () => {
    for (let left = draw.integer(1, MOST_STEPS); left > 0; left -= 1) await step();
  });
  if (wasUnseen) await run('submissions', 'release').ended;
  await bystanders.finishSent(daemon, PATIENCE_MS);
  const sent = await bystanders.judge(true);
  const isHeld = !wasUnseen && sent.some(({ state }) => state === 'held');
  account.claim(!isHeld, 'submissions are held, though a daemon was there all the time');
  await account.stop(daemon);
  // At last it is put right. Behind the machine's, libfaketime's ends sessions early now and then: a server's timer that
  // rings while the file is read sees the machine's time.
  await stepClock(cluster, 0);
  await account.endWell(db, cluster.url, {}, 'differ');
  await bystanders.checkConsumer();
  const { rows } = await db.query('select from mirror.recoveries');
  account.claim(rows.length === 0, 'a step of the clock was taken for a database that went back');
}
