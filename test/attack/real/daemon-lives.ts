import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { accountEnv, hasEnded, Programs, type Running } from '../../support/processes/program.ts';
import { startTestSandbox, STILL, type TestSandbox } from '@research-mirror/sandbox/testing/sandbox';
import { type Brake, killBlocked } from '../kills/brakes.ts';
import { Draw } from '../support/draw.ts';
import { GameRecord, type GameResult } from '../support/attack.ts';
import { openTable } from '../support/server.ts';

/** Longest life of a program that is killed before it has done anything. */
const EARLY_MS = 1_200;
/** A life that shows no sign of work is ended. */
const PATIENCE_MS = 15_000;
const FIRST_LOAD_MS = 60_000;
/** Where in its life a program is killed. */
const MOMENTS = { early: 1, 'at work': 4, blocked: 5 };

interface LivesOptions {
  readonly seed: number;
  /** Of an empty database. */
  readonly url: string;
  readonly switches: Partial<SandboxOptions>;
  /** Further variables of the daemon. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * One account of the emulated service and the daemon that mirrors it, which is killed again and again. What else
 * happens to the two is the attack's own.
 */
export class DaemonLives extends GameRecord {
  readonly draw: Draw;
  readonly sandbox: TestSandbox;
  readonly db: pg.Pool;
  readonly #options: LivesOptions;
  readonly #closeDatabase: () => Promise<void>;
  readonly #programs = new Programs();

  private constructor(options: LivesOptions, sandbox: TestSandbox, table: Awaited<ReturnType<typeof openTable>>) {
    super();
    this.#options = options;
    this.sandbox = sandbox;
    this.db = table.db;
    this.#closeDatabase = () => table.close();
    this.draw = new Draw(options.seed ^ 0x27d4eb2f);
  }

  static async open(options: LivesOptions): Promise<DaemonLives> {
    const table = await openTable(options.url);
    const sandbox = await startTestSandbox({
      ...STILL,
      seed: options.seed,
      jobs: 200,
      bulkJobs: 5,
      lists: 5,
      itemsPerList: 10,
      watchlist: 20,
      limitOther: 30_000,
      latencyMin: 1,
      latencyMax: 25,
      ...options.switches,
    });
    return new DaemonLives(options, sandbox, table);
  }

  begin(): Running {
    return this.#programs.start(['start'], {
      ...accountEnv(this.#options.url, this.sandbox),
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'json',
      ...this.#options.env,
    });
  }

  /**
   * A first life: until the mirror equals the source, and `ready`. It goes on. The source stands still meanwhile: of
   * what changes before a webhook is registered, no event tells.
   */
  async finishIn(ready: () => Promise<boolean> = async () => true): Promise<Running> {
    await this.sandbox.control.clock({ freeze: true });
    const program = this.begin();
    await this.#until(program, 'the first load', async () => (await this.differences()).length === 0);
    await this.#until(program, 'being ready', ready);
    await this.sandbox.control.clock({ resume: true });
    return program;
  }

  /**
   * From a start to a SIGKILL.
   * @param work how much the daemon has done so far of what the attack is about; it is at work once this rises
   * @param atWorkMs from the first sign of work to the kill, at most
   * @param brakes statements that Postgres may be made to hold
   */
  async liveAndDie(work: () => Promise<number>, atWorkMs: number, brakes: readonly [Brake, ...Brake[]]): Promise<void> {
    const before = await work();
    const program = this.begin();
    const moment = this.draw.weighted(MOMENTS);
    if (moment === 'early') await systemClock.sleep(this.draw.random() * EARLY_MS);
    else {
      const isAtWork = async (): Promise<boolean> => hasEnded(program) || (await work()) > before;
      await eventually('work', isAtWork, PATIENCE_MS).catch(() => this.count('lives without work'));
      await systemClock.sleep(this.draw.random() * atWorkMs);
    }
    const chosen = this.draw.one(brakes) ?? brakes[0];
    const where = moment === 'blocked' ? await killBlocked(this, this.db, program, chosen) : moment;
    program.child.kill('SIGKILL');
    const { signal, code, stdout, stderr } = await program.ended;
    this.tell(`life: killed ${where}`);
    this.count(signal === 'SIGKILL' ? 'kills' : 'lives ended by themselves');
    if (signal !== 'SIGKILL')
      this.find('claim', `the daemon ended by itself with ${code}: ${`${stdout}${stderr}`.slice(-400)}`);
  }

  /** A last life, which is not killed: until `done`, and then a clean stop. */
  async endWell(what: string, done: () => Promise<boolean>, withinMs: number): Promise<void> {
    const program = this.begin();
    // Else a signal might come before anybody listens to it: all may be done before this life begins.
    const process = `select 1 from mirror_sync.process where pid = ${program.child.pid}`;
    const hasBegun = async (): Promise<boolean> => (await this.db.query(process)).rowCount === 1;
    await this.#until(program, what, async () => (await hasBegun()) && (await done()), withinMs);
    program.child.kill('SIGTERM');
    const { code, stderr } = await program.ended;
    if (code !== 0) this.find('claim', `a stop after all ended with ${code}: ${stderr.slice(-400)}`);
  }

  differences(): Promise<string[]> {
    return differences(this);
  }

  outcome(what: string): GameResult {
    const { findings, counts, trace } = this;
    return { seed: this.#options.seed, what, findings, counts, trace };
  }

  async close(): Promise<void> {
    await this.#programs.close();
    await this.sandbox.stop();
    await this.#closeDatabase();
  }

  /** Waits for a condition while the program runs. @throws what it said where it ended or was not ready in time */
  async #until(program: Running, what: string, done: () => Promise<boolean>, withinMs = FIRST_LOAD_MS): Promise<void> {
    const told = (why: string): Error => new Error(`${what}: ${why}: ${program.output().slice(-600)}`);
    await eventually(what, async () => hasEnded(program) || (await done()), withinMs).catch(async (error: unknown) => {
      const different = (await this.differences()).slice(0, 3).join('; ');
      throw told(`${messageOf(error)} (${different === '' ? 'no difference' : different})`);
    });
    if (hasEnded(program)) throw told(`the daemon ended with ${program.child.exitCode ?? program.child.signalCode}`);
  }
}
