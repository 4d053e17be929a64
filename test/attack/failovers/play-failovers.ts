import { withOrigin } from './origin.ts';
import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import type { Cluster } from '../../support/databases/cluster.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { createMovingDatabase, type MovingDatabase } from '../../support/databases/moving-database.ts';
import { openPool } from '../../support/postgres/on-connection.ts';
import { hasEnded, type Running } from '../../support/processes/program.ts';
import { RealAccount } from '../real/real-account.ts';
import { type EventRow, judge as judgeDeliveries } from '../deliveries/judge.ts';
import { type Attack, type GameResult, playGames } from '../support/attack.ts';
import { Bystanders } from './bystanders.ts';

/** Ways in which a database goes back in time, and how often each is drawn. */
const DISASTERS = { crash: 4, failover: 4, restore: 3, 'older copy': 2 };
type DisasterName = keyof typeof DISASTERS;

/** What there is after it is as of now, or a little later. @returns what makes it happen */
async function prepare(name: DisasterName, moving: MovingDatabase): Promise<() => Promise<void>> {
  if (name === 'crash') return () => moving.crash();
  if (name === 'failover') {
    await moving.follow();
    await moving.cutStandby();
    return () => moving.failOver();
  }
  if (name === 'restore') {
    const backup = await moving.backUp();
    return () => moving.restore(backup);
  }
  await moving.copyDatabase();
  return () => moving.takeCopy();
}

/** A little of everything, in pages of a few rows. */
const SMALL = { jobs: 60, bulkJobs: 4, lists: 3, itemsPerList: 8, watchlist: 15, limitSequence: 3_000 };
const MOST_DISASTERS = 2;
/** Takeovers wait for heartbeats (15 s), and requests for what may have been sent in the last window (90 s). */
const PATIENCE_MS = 180_000;

/** Said once everything is started. */
const STARTED = 'mirroring into';

/** Share of the games that begin with a loaded mirror and a registered webhook. */
const FINISHED = 0.8;

/** State of the daemon's process while the database goes back, with its weight. */
const PROCESS = { alive: 6, stopped: 1, dead: 2 };

const GAMES = 200;
/** Most of a game is waiting: for heartbeats to expire, and for the window of the rate limit. */
const LANES = 6;

export const failoversAttack: Attack = {
  name: 'failovers',
  what: 'the database goes back: crashes that lose commits, standbys that lagged, backups and copies put in its place',
  run: (options) =>
    withOrigin((origin) =>
      playGames(options, {
        lanes: LANES,
        more: (begun) => begun < GAMES,
        play: (seed) => playFailovers(seed, origin),
      }),
    ),
};

/**
 * One account whose database goes back in time under the daemon, a consumer and a user who queues operations.
 * @param disasters left out: drawn
 */
export async function playFailovers(
  seed: number,
  origin: Cluster,
  disasters?: readonly DisasterName[],
): Promise<GameResult> {
  const account = await RealAccount.open(seed, { ...SMALL, maxLimit: 5 + (seed % 20) });
  const { draw } = account;
  const moving = await createMovingDatabase(await origin.copyFiles(), {
    lazyCommits: draw.chance(0.6),
    whileAway: draw.one(['refuse', 'wait']),
  });
  const db = openPool(moving.url);
  try {
    await new Game(account, moving, db).play(
      disasters ?? Array.from({ length: draw.integer(1, MOST_DISASTERS) }, () => draw.weighted(DISASTERS)),
    );
    return account.outcome();
  } finally {
    await account.close();
    await db.end();
    await moving.close();
  }
}

class Game {
  readonly #account: RealAccount;
  readonly #moving: MovingDatabase;
  readonly #db: pg.Pool;
  readonly #bystanders: Bystanders;
  readonly #played: DisasterName[] = [];
  #env: Readonly<Record<string, string>> = {};

  constructor(account: RealAccount, moving: MovingDatabase, db: pg.Pool) {
    this.#account = account;
    this.#moving = moving;
    this.#db = db;
    this.#bystanders = new Bystanders(db, account);
  }

  async play(disasters: readonly DisasterName[]): Promise<void> {
    const account = this.#account;
    const { draw } = account;
    if (draw.chance(0.5)) {
      const port = String(await nonEphemeralPort());
      this.#env = { MIRROR_PUBLIC_URL: `http://127.0.0.1:${port}`, MIRROR_WEBHOOK_PORT: port };
    }
    let daemon = this.#begin();
    let since = '';
    await eventually('some pages', () => account.requests() > 3);
    if (draw.chance(FINISHED)) await this.#finishIn();
    await this.#bystanders.during(async () => {
      for (const name of disasters) ({ daemon, since } = await this.#strike(daemon, name));
    });
    daemon = await this.#supervised(daemon);
    await this.#recover(daemon, since);
    await this.#goesOn();
    await this.#bystanders.finishSent(daemon, PATIENCE_MS);
    await account.stop(daemon);
    await account.endWell(this.#db, this.#moving.url);
    await this.#bystanders.checkConsumer();
    await this.#judge();
  }

  async #finishIn(): Promise<void> {
    const registered = `exists (select from mirror_sync.registration where state = 'registered')`;
    const looked = async (): Promise<boolean> => {
      const { rows } = await this.#db.query<{ loaded: boolean; registered: boolean }>(
        `select bool_and(polled_at is not null) as loaded, ${registered} as registered from mirror.freshness`,
      );
      const [found] = rows;
      if (found?.loaded === true && (found.registered || !('MIRROR_PUBLIC_URL' in this.#env))) return true;
      throw new Error(JSON.stringify(found));
    };
    await eventually('the first load', looked, PATIENCE_MS);
  }

  #begin(): Running {
    return this.#account.begin(['start'], this.#moving.url, this.#env);
  }

  /** A daemon whose database goes away while it starts ends with 3, as documented: its supervisor starts it again. */
  async #supervised(daemon: Running): Promise<Running> {
    for (;;) {
      const hasStarted = daemon.until(STARTED).then(
        () => true,
        () => false,
      );
      if (await hasStarted) return daemon;
      const { code } = await daemon.ended;
      if (code !== 3 || daemon.output().includes(STARTED)) return daemon;
      this.#account.count('starts that a lost database ended');
      daemon = this.#begin();
    }
  }

  /**
   * Lets the database go back once, in the middle of everything.
   * @returns the daemon that runs after it, and since when, by the database's clock
   */
  async #strike(daemon: Running, name: DisasterName): Promise<{ daemon: Running; since: string }> {
    const account = this.#account;
    const { draw } = account;
    await systemClock.sleep(draw.random() * 1_500);
    // One that is still starting would end, and what it knew with it.
    if (name === 'restore') daemon = await this.#supervised(daemon);
    const strike = await prepare(name, this.#moving);
    await account.scheduleFullWalks(this.#db).catch(() => {});
    await systemClock.sleep(draw.random() * 1_500);
    // Where nothing is to be seen afterwards, only who knew the database before can tell: it must live to do so.
    this.#played.push(name);
    const process = this.#played.includes('restore') ? 'alive' : draw.weighted(PROCESS);
    account.tell(`${name}, the daemon is ${process}`);
    account.count(name);
    const { rows } = await this.#db.query<{ now: string }>('select clock_timestamp()::text as now');
    const since = rows[0]?.now ?? '';
    if (process === 'dead') daemon.child.kill('SIGKILL');
    if (process === 'stopped') daemon.child.kill('SIGSTOP');
    await strike();
    account.tell(`${name}: the server is back`);
    if (process === 'stopped') daemon.child.kill('SIGCONT');
    if (process !== 'dead') return { daemon, since };
    await daemon.ended;
    return { daemon: this.#begin(), since };
  }

  /** Full walks are due by themselves, where it can be noticed; where nothing was lost there is nothing to notice. */
  async #recover(daemon: Running, since: string): Promise<void> {
    const account = this.#account;
    const last = this.#played.at(-1);
    const begin = performance.now();
    const wait = (what: string, query: string, parameters: readonly string[] = []): Promise<unknown> =>
      eventually(
        what,
        async () => hasEnded(daemon) || (await this.#db.query(query, [...parameters])).rowCount === 1,
        PATIENCE_MS,
      );
    try {
      if (last === 'failover' || last === 'older copy') {
        const query = 'select from mirror.recoveries where detected_at > $1::timestamptz limit 1';
        await wait('the mark that the database went back', query, [since]);
      } else await account.scheduleFullWalks(this.#db);
      await wait(
        'full walks after it',
        `select from mirror._collections join mirror_sync.account using (_user_id)
         where next_full_at is not null having count(*) > 0 and bool_and(next_full_at > now() and not recheck)`,
      );
      account.tell(`recovered after ${Math.round(performance.now() - begin)} ms`);
    } catch (error) {
      account.claim(false, `${messageOf(error)}: ${daemon.output().slice(-600)}`);
    }
    account.claim(!hasEnded(daemon), `the daemon ended by itself: ${daemon.output().slice(-300)}`);
  }

  /** What is queued in the database as it is now is sent. */
  async #goesOn(): Promise<void> {
    const isSent = `select from mirror.submissions where submission_id = $1 and state in ('accepted', 'rejected')`;
    try {
      const id = await this.#bystanders.submit('clay_enrich');
      await eventually(
        'what was queued last to be sent',
        async () => (await this.#db.query(isSent, [id])).rowCount === 1,
      );
    } catch (error) {
      this.#account.claim(false, messageOf(error));
    }
  }

  async #judge(): Promise<void> {
    const account = this.#account;
    const kept = this.#played.every((name) => name === 'crash');
    await this.#bystanders.judge(kept);
    const events = await this.#db.query<EventRow>(
      'select id, type, received_at::text as "receivedAt" from mirror.events',
    );
    const attempts = await account.source.control.deliveries();
    account.count('deliveries', attempts.length);
    // Events that were answered with 200 are there where the database keeps durable commits; none is there twice or false.
    const judged = judgeDeliveries(events.rows, attempts);
    account.found(judged.filter(({ kind }) => kept || kind === 'twice' || kind === 'false'));
    const marks = await this.#db.query<{ reason: string }>('select reason from mirror.recoveries');
    for (const { reason } of marks.rows) account.tell(`mark: ${reason}`);
    account.count('marks', marks.rows.length);
  }
}
