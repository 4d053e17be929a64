import { monitorEventLoopDelay } from 'node:perf_hooks';
import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { accountEnv, type Outcome, Programs, type Running } from '../../support/processes/program.ts';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { Draw } from '../support/draw.ts';
import { addCounts, GameRecord, type GameResult } from '../support/attack.ts';
import { AnswerLog } from '../walks/source/answer-log.ts';
import { checkDeletions, deletionsOf } from '../walks/checks/deletions.ts';
import { drawVariant } from '../walks/game/game.ts';
import { checkVersions } from '../walks/source/history.ts';
import { KEYS, type ListName, scopeOf } from '../walks/checks/mirrored.ts';
import { Operator } from '../walks/game/operator.ts';
import { openSource, type Source } from '../walks/source/source.ts';
import { TruthLog } from '../walks/source/truth-log.ts';

/** The least that MIRROR_SETTLE may be. */
const GRACE_PERIOD_MS = 1_000;
/** Most runs of `sync --full` until the mirror is equal: a second one where only two equal walks can prove. */
const READINGS = 2;
/** A daemon looks for columns to be filled each minute. */
const FILLED_WITHIN_MS = 180_000;
const USER = 1001;
const NAMES = Object.keys(KEYS) as ListName[];

/**
 * One account of the emulated service, mirrored by real processes of the program, while things happen in it. What an
 * attack does to the processes, the database or the network is its own; how it ends is here.
 */
export class RealAccount extends GameRecord {
  readonly draw: Draw;
  readonly source: Source;
  readonly #seed: number;
  readonly #what: string;
  readonly #log = new TruthLog();
  readonly #operator: Operator;
  readonly #programs = new Programs();
  /** Delays of this process, from which the service answers, on a busy machine. */
  readonly #stalls = monitorEventLoopDelay();
  #acting: NodeJS.Timeout | undefined;
  #isActing = false;

  private constructor(seed: number, source: Source, what: string) {
    super();
    this.#seed = seed;
    this.#what = what;
    this.#stalls.enable();
    this.draw = new Draw(seed ^ 0x1b873593);
    this.source = source;
    this.#operator = new Operator(source, this.#log, new Draw(seed + 1), (line) => this.tell(line));
    for (const name of NAMES) if (name !== 'list_items') this.#operator.watch({ collection: name, list: '' });
  }

  static async open(seed: number, switches: Partial<SandboxOptions> = {}): Promise<RealAccount> {
    const draw = new Draw(seed);
    const variant = drawVariant(draw);
    const maxLimit = draw.integer(20, 60);
    const source = await openSource({
      ...STILL,
      ...variant,
      seed,
      limitOther: 30_000,
      jobSeconds: 1,
      jobs: 300,
      bulkJobs: 5,
      lists: 5,
      itemsPerList: 40,
      watchlist: 60,
      maxLimit,
      latencyMin: 1,
      latencyMax: 25,
      ...switches,
    });
    return new RealAccount(seed, source, `${Object.values(variant).join(' ')}; pages of ${maxLimit}`);
  }

  /** Starts the program on this account. @param url the database */
  begin(args: readonly string[], url: string, env: Readonly<Record<string, string>> = {}): Running {
    return this.#programs.start(args, {
      ...accountEnv(url, { url: this.source.url, key: 'sandbox-key' }),
      MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s`,
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
      ...env,
    });
  }

  /** Stops a program, which must end well. */
  async stop(program: Running): Promise<void> {
    program.child.kill('SIGTERM');
    const { code, stdout, stderr } = await program.ended;
    const said = `${stdout.slice(-300)}${stderr.slice(-300)}`;
    this.claim(code === 0, `the daemon ended with ${code}: ${said}`);
  }

  /** Lets things happen in the source, one every tenth of a second or so. */
  act(on: boolean): void {
    clearTimeout(this.#acting);
    this.#isActing = on;
    if (!on) return;
    this.#acting = setTimeout(() => {
      this.#operator.act();
      if (this.#isActing) this.act(true);
    }, this.draw.random() * 200);
  }

  /** Requests that reached the service so far. */
  requests(): number {
    return this.source.state.requests.counters().requests;
  }

  /** As if the cron line of every full walk had come while the program was dead. */
  async scheduleFullWalks(db: pg.Pool): Promise<void> {
    await db.query(`update mirror._collections set next_full_at = now() - interval '1 minute'`);
  }

  /**
   * Nothing more happens: full readings until the mirror is equal, and then every check.
   * @param clocks `agree`: the database goes by this machine's clock, so its moments can be judged
   */
  async endWell(
    db: pg.Pool,
    url: string,
    env: Readonly<Record<string, string>> = {},
    clocks: 'agree' | 'differ' = 'agree',
  ): Promise<void> {
    this.act(false);
    await systemClock.sleep(GRACE_PERIOD_MS + 50);
    this.source.state.data.freeze();
    let found: string[] = [];
    for (let reading = 1; reading <= READINGS; reading += 1) {
      let outcome = await this.begin(['sync', '--full'], url, env).ended;
      if (outcome.code === 1) this.count('full readings that the brake held');
      if (outcome.code === 1) outcome = await this.begin(['sync', '--full', '--accept-deletions'], url, env).ended;
      const { code, stdout, stderr } = outcome;
      this.count(`full readings that ended ${endOf(outcome)}`);
      await this.#fillColumns(db, url, env);
      found = await differences({ sandbox: { control: this.source.control, userId: USER }, db });
      this.tell(`reading ${reading} ended with ${code}: ${stdout}${stderr}`);
      // 3: it says itself that rows wait for a second proof.
      if (found.length > 0 && reading < READINGS) continue;
      this.claim(code === 0, `sync --full ended with ${code}: ${stderr.slice(-300)}`);
      if (found.length === 0) this.count(`equal after ${reading}`);
      break;
    }
    for (const text of found.slice(0, 5)) this.find('lost', text);
    await this.#check(db, clocks);
  }

  /** A column that came while its table was locked is filled later, by a daemon that has nothing else to do. */
  async #fillColumns(db: pg.Pool, url: string, env: Readonly<Record<string, string>>): Promise<void> {
    const areFilled = async () => (await db.query('select from mirror_sync.backfill')).rowCount === 0;
    if (await areFilled()) return;
    this.count('ends with columns to be filled');
    const daemon = this.begin(['start'], url, env);
    await eventually('late columns to be filled', areFilled, FILLED_WITHIN_MS);
    await this.stop(daemon);
  }

  claim(isTrue: boolean, text: string): void {
    if (!isTrue) this.find('claim', text);
  }

  outcome(): GameResult {
    const { findings, trace, counts: seen } = this;
    const counts = { ...seen, operations: this.#operator.count };
    return { seed: this.#seed, what: this.#what, findings, counts, trace };
  }

  async close(): Promise<void> {
    this.act(false);
    this.#stalls.disable();
    await this.#programs.close();
    await this.source.stop();
  }

  /** Where nothing tells when by the source's clock: deletions of rows that were never missing. */
  async #checkNeverGone(db: pg.Pool, user: string): Promise<void> {
    for (const name of NAMES) {
      for (const { list, id } of await deletionsOf(db, name, user, true)) {
        this.count('deletions');
        if (!this.#log.absentWithin(scopeOf(name, list), id, -Infinity, Infinity))
          this.find('false', `${name} ${list}/${id} was deleted, and was never gone`);
      }
    }
  }

  async #check(db: pg.Pool, clocks: 'agree' | 'differ'): Promise<void> {
    const user = String(USER);
    if (clocks === 'agree') await this.#checkDeletions(db, user);
    else await this.#checkNeverGone(db, user);
    const { findings: twice, versions } = await checkVersions(db, NAMES, user);
    this.findings.push(...twice);
    addCounts(this.counts, { versions, requests: this.source.state.requests.log(0).length });
    const { rateLimited } = this.source.state.requests.counters();
    this.claim(rateLimited === 0, `${rateLimited} requests were answered with 429`);
    const { rows } = await db.query<{ again: string }>(
      'select walk_id as again from mirror.sync_log group by 1 having count(*) > 1',
    );
    for (const { again } of rows) this.find('twice', `sync_log has walk ${again} twice`);
  }

  async #checkDeletions(db: pg.Pool, user: string): Promise<void> {
    const { order } = this.source.state.options;
    const answers = new AnswerLog();
    const log = this.source.state.requests.log(0);
    // A killed program may not have seen an answer: the rows on it prove nothing.
    for (const { path, at } of log) answers.note(path, at, at, '');
    const { findings, deletions, beyondP2, toldEmpty } = await checkDeletions(db, NAMES, user, {
      log: this.#log,
      answers,
      lagMs: 0,
      slackMs: LONGEST_ANSWER_MS + this.#stalls.max / 1e6,
      gracePeriodMs: GRACE_PERIOD_MS,
      history: true,
      byPairs: order !== 'falling' && order !== 'rising',
    });
    this.findings.push(...findings);
    addCounts(this.counts, { deletions, 'beyond P2': beyondP2, 'told empty': toldEmpty });
  }
}

/** How a `sync --full` ended, for the summary: 3 has several reasons, of which one is no failure. */
function endOf({ code, signal, stderr }: Outcome): string {
  const waits = code === 3 && stderr.includes(' wait for a second proof');
  return waits ? 'with 3: rows wait for a second proof' : `with ${code ?? signal}`;
}

/** From a request's arrival to its answer's last byte, at most: latency and a machine that is a little slow. */
const LONGEST_ANSWER_MS = 1_000;
