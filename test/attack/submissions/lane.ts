import pg from 'pg';
import { OPERATION_NAMES, type OperationName } from '../../../src/model/submission.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { COMMIT_BRAKE, prepareCommitBrake, tableBrake } from '../kills/brakes.ts';
import { DaemonLives } from '../real/daemon-lives.ts';
import type { Attack, GameResult } from '../support/attack.ts';
import type { Draw } from '../support/draw.ts';
import { FINAL_STATES, judge, submissionRows, type Told } from './judge.ts';
import { type KillsLane, playKills } from '../support/play-kills.ts';

type FaultName = Extract<keyof SandboxOptions, `fault${string}`>;

const FAULTS = {
  none: [],
  /** Failures that do not tell whether the POST took effect. */
  untold: [
    ...(['fault500', 'fault503', 'fault408', 'fault425', 'faultRedirect'] as const),
    ...(['faultReset', 'faultTruncated', 'faultSlow', 'faultDrip'] as const),
  ],
  /** Answers by which a truthful service says that it has not done it. */
  refusals: ['fault402', 'fault409', 'faultKey', 'faultResetEarly'],
  /** Answers of 2xx that are no JSON, or say of an error: of an operation that was carried out. */
  odd: ['faultHtml', 'faultGarbage', 'faultError200'],
} as const satisfies Record<string, readonly FaultName[]>;

const NO_FAULTS: Partial<SandboxOptions> = Object.fromEntries(
  Object.values(FAULTS)
    .flat()
    .map((name) => [name, 0]),
);

/** Every request is answered, and truthfully. */
const ALL_WELL: Partial<SandboxOptions> = { ...NO_FAULTS, latencyMin: 1, latencyMax: 25 };

/** Draws what happens to POST requests for a while. */
function drawFaults(draw: Draw) {
  const kind = draw.weighted({ none: 2, untold: 5, refusals: 2, odd: 1 });
  const share = draw.one([0.1, 0.3, 0.6]);
  const drawn = [draw.one<FaultName>(FAULTS[kind]), draw.one<FaultName>(FAULTS[kind])];
  const chosen = [...new Set(drawn)].filter((name) => name !== undefined);
  const faultEffect = kind === 'odd' || (kind === 'untold' && draw.chance(0.5)) ? 'done' : 'undone';
  const switches: Partial<SandboxOptions> = {
    ...NO_FAULTS,
    ...Object.fromEntries(chosen.map((name) => [name, share / chosen.length])),
    faultRoutes: 'posts',
    faultEffect,
    slowMs: draw.integer(200, 3_000),
    latencyMin: 1,
    latencyMax: draw.one([5, 60, 400]),
  };
  return { switches, what: `${chosen.join(' and ') || 'no faults'} (${faultEffect}, ${share})` };
}

/** Far above the number that is sent, so that the kills take minutes and not hours. */
const LIMIT = 3_000;
const LIMITS = { limitClay: LIMIT, limitResearch: LIMIT, limitHeavy: LIMIT, limitSequence: LIMIT };

/** What a transaction of a submission writes, and the reservation before it. */
const TABLES = ['mirror.submissions', ...['account', 'hint', 'slot_block'].map((name) => `mirror_sync.${name}`)];
const BRAKES = [COMMIT_BRAKE, ...TABLES.map(tableBrake)] as const;

/** Longest time between two operations that are queued, whether the daemon lives or not. */
const QUEUE_EACH_MS = 400;
const CANCELS = 0.15;
/** What the dead left is claimed first: some lives see the end of theirs. */
const AT_WORK_MS = 2_500;
/**
 * What was being sent when its process died is settled only when its request must be over. After a 429 a group is
 * paced for a day, and each kill costs it a slot for a minute.
 */
const FINISHED_WITHIN_MS = 480_000;

export const submissionsAttack: Attack = {
  name: 'submissions',
  what: 'SIGKILL of the daemon while operations are queued by SQL and the service fails in every way',
  run: (options) => playKills(options, { usual: 200, play: playLane }),
};

interface LaneOptions extends KillsLane {
  /**
   * Moves the deadlines of what the dead were sending into the past, once nothing is on the wire: the end then needs
   * no minutes of waiting.
   */
  readonly hasten?: boolean;
}

/** One account whose daemon is killed again and again while operations are queued; then quiet, and the judgement. */
export async function playLane(options: LaneOptions): Promise<GameResult> {
  const { seed, kills, url, hasten = false, signal } = options;
  // Some services refuse what the daemon had thought it may send.
  const refuses = !hasten && seed % 2 === 0;
  const lives = await DaemonLives.open({ seed, url, switches: { ...LIMITS, ...ALL_WELL } });
  const { db, draw, sandbox } = lives;
  const what = `limits of ${LIMIT}${refuses ? ', but for one of 2' : ''}`;
  let queueing: Promise<void> | undefined;
  const over = new AbortController();
  try {
    await prepareCommitBrake(db, 'update on mirror.submissions');
    const first = await lives.finishIn();
    await teachLimits(lives);
    first.child.kill('SIGKILL');
    await first.ended;

    const queue = new Queue(lives, {
      list_analyze: await keysOf(lives, 'lists', 'list_id'),
      sequence: await keysOf(lives, 'research_jobs', 'job_id'),
    });
    if (refuses) {
      await sandbox.control.change({ limitClay: 2 });
      for (let count = 0; count < 3; count += 1) await queue.submit('clay_enrich');
    }
    queueing = keepQueueing(lives, queue, refuses ? 'clay_enrich' : undefined, over.signal);
    const ended = new Map<string, string>();
    for (let life = 0; life < kills; life += 1) {
      if (signal?.aborted === true) return lives.outcome(what);
      const faults = drawFaults(draw);
      await sandbox.control.change(faults.switches);
      lives.tell(faults.what);
      await lives.liveAndDie(() => sent(lives), AT_WORK_MS, BRAKES);
      await watchStates(lives, ended);
    }
    over.abort();
    await queueing;
    await sandbox.control.change({ ...ALL_WELL, limitClay: LIMIT });
    if (hasten) await hastenEnds(lives);
    const done = async (): Promise<boolean> => (await openOf(lives)).length === 0;
    try {
      await lives.endWell('the end of every submission', done, FINISHED_WITHIN_MS);
    } catch (error) {
      throw new Error(`open: ${(await openOf(lives)).join(', ')}`, { cause: error });
    }
    await watchStates(lives, ended);
    await check(lives, queue);
    return lives.outcome(what);
  } finally {
    over.abort();
    await queueing?.catch(() => {});
    await lives.close();
  }
}

/** As if the daemon had known this service for long: it believes limits above the specification's only then. */
async function teachLimits({ db }: DaemonLives): Promise<void> {
  const routes = {
    clay_enrich: ['POST /v1/clay/enrich'],
    research_enrich: ['POST /v1/research', 'POST /v1/enrich'],
    bulk_lists: ['POST /v1/research/bulk', 'POST /v1/lists', 'POST /v1/lists/{id}/analyze'],
    sequence: ['POST /v1/research/{id}/sequence'],
  };
  for (const [group, names] of Object.entries(routes)) {
    const limits = Object.fromEntries(names.map((name) => [name, { limit: LIMIT, seenAt: Date.now() }]));
    await db.query(
      `insert into mirror_sync.rate_group (_user_id, key_hash, rate_group, learnt)
       select _user_id, key_hash, $1, $2 from mirror_sync.api_key where _user_id is not null
       on conflict (_user_id, key_hash, rate_group) do update set learnt = excluded.learnt`,
      [group, JSON.stringify({ contacted: true, limits })],
    );
  }
}

async function keysOf({ db }: DaemonLives, table: string, column: string): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(`select ${column} as key from mirror.${table} limit 20`);
  return rows.map(({ key }) => key);
}

/** Part of the submissions that are repeated at once under the same idempotency key, or rolled back. */
const REPEATED = 0.15;
const ROLLED_BACK = 0.05;

/**
 * A user who queues operations by SQL, whatever happens to the daemon, and remembers what he was told. Each payload
 * has a marker of its own.
 */
class Queue implements Told {
  readonly queued = new Map<string, string>();
  readonly cancelled = new Set<string>();
  readonly rolledBack = new Set<string>();
  /** What `submit` itself got wrong. */
  readonly problems: string[] = [];
  readonly #lives: DaemonLives;
  readonly #targets: Partial<Record<OperationName, readonly string[]>>;
  #markers = 0;

  /** @param targets rows that operations with a target may name */
  constructor(lives: DaemonLives, targets: Partial<Record<OperationName, readonly string[]>>) {
    this.#lives = lives;
    this.#targets = targets;
  }

  /** Queues an operation; now and then twice under one key, or in a transaction that is rolled back. */
  async submit(operation: OperationName): Promise<void> {
    const { db, draw } = this.#lives;
    const marker = `m${(this.#markers += 1)}`;
    const payload = JSON.stringify({ marker, company_url: `https://${marker}.example` });
    const targets = this.#targets[operation];
    const parameters = [operation, payload, targets && draw.one(targets), `key-${marker}`];
    const idOf = async (by: Pick<pg.ClientBase, 'query'> = db): Promise<string> => {
      const statement = 'select mirror.submit($1, $2, $3, idempotency_key => $4) as id';
      return (await by.query<{ id: string }>(statement, parameters)).rows[0]?.id ?? '';
    };
    if (draw.chance(ROLLED_BACK)) {
      this.rolledBack.add(marker);
      const client = await db.connect();
      try {
        await client.query('begin');
        await idOf(client);
        await client.query('rollback');
      } finally {
        client.release();
      }
      return;
    }
    const id = await idOf();
    this.queued.set(id, marker);
    if (!draw.chance(REPEATED)) return;
    const again = await idOf();
    if (again !== id) this.problems.push(`submission ${id} is ${again} when it is queued under its key again`);
  }

  /** Cancels one that was queued lately, if it can be cancelled still. */
  async cancel(): Promise<void> {
    const { db, draw } = this.#lives;
    const id = draw.one([...this.queued.keys()].slice(-5));
    if (id === undefined) return;
    try {
      await db.query('select mirror.cancel_submission($1)', [id]);
      this.cancelled.add(id);
    } catch (error) {
      // It was sent.
      if (!(error instanceof pg.DatabaseError) || error.code !== 'RM017') throw error;
    }
  }
}

/** Queues and cancels until the signal aborts. */
async function keepQueueing(
  { draw }: DaemonLives,
  queue: Queue,
  spared: OperationName | undefined,
  signal: AbortSignal,
): Promise<void> {
  const names = OPERATION_NAMES.filter((name) => name !== spared);
  while (!signal.aborted) {
    for (let burst = draw.integer(1, 3); burst > 0; burst -= 1) await queue.submit(draw.one(names) ?? 'research');
    if (draw.chance(CANCELS)) await queue.cancel();
    await systemClock.sleep(draw.random() * QUEUE_EACH_MS, signal).catch(() => {});
  }
}

/** Submissions that were sent so far. */
async function sent({ db }: DaemonLives): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from mirror.submissions where sent_at is not null',
  );
  return rows[0]?.count ?? 0;
}

/** Submissions without an end, a line each. */
async function openOf({ db }: DaemonLives): Promise<string[]> {
  const { rows } = await db.query<{ line: string }>(
    `select concat_ws(' ', operation, submission_id, state, error, 'not before', _not_before) as line
     from mirror.submissions where state in ('queued', 'sending', 'held') order by submission_id limit 20`,
  );
  return rows.map(({ line }) => line);
}

/** What was being sent when its process died; and no end changes any more, since who wrote it is dead. */
async function watchStates(lives: DaemonLives, ended: Map<string, string>): Promise<void> {
  let sending = 0;
  for (const { id, state, responseStatus } of await submissionRows(lives.db)) {
    if (state === 'sending') sending += 1;
    if (!FINAL_STATES.some((final) => final === state)) continue;
    const now = `${state} ${responseStatus ?? ''}`;
    const before = ended.get(id) ?? now;
    if (before !== now) lives.find('false', `submission ${id} was ${before}, and is ${now}`);
    ended.set(id, now);
  }
  if (sending > 0) lives.count('kills that left some being sent');
}

/** No process lives: what was on the wire is over as soon as the service says so. */
async function hastenEnds({ db, sandbox }: DaemonLives): Promise<void> {
  await eventually('quiet', async () => (await sandbox.control.counters()).inFlight === 0);
  await db.query(`update mirror.submissions set _send_before = '2001-01-01Z' where state = 'sending'`);
}

async function check(lives: DaemonLives, queue: Queue): Promise<void> {
  const rows = await submissionRows(lives.db);
  const effects = (await lives.sandbox.control.operations()).map(({ idempotencyKey, payload }) => {
    const { marker } = JSON.parse(payload ?? '{}') as { marker?: unknown };
    return { idempotencyKey, marker: String(marker) };
  });
  lives.findings.push(...judge(rows, effects, queue));
  for (const problem of queue.problems) lives.find('twice', problem);
  const done = new Set(effects.map(({ marker }) => marker));
  lives.count('submissions', rows.length);
  for (const { state, marker } of rows) {
    lives.count(state);
    if (state === 'unknown' && done.has(marker)) lives.count('unknown that took effect');
  }
  const { rateLimited } = await lives.sandbox.control.counters();
  lives.count('answered with 429', rateLimited);
}
