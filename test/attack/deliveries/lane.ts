import { type Scheme, SIGNATURE_SCHEMES } from '../../../src/config/parse-values.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { COMMIT_BRAKE, prepareCommitBrake, tableBrake } from '../kills/brakes.ts';
import { DaemonLives } from '../real/daemon-lives.ts';
import { Draw } from '../support/draw.ts';
import type { Attack, GameResult } from '../support/attack.ts';
import { type EventRow, judge } from './judge.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { type KillsLane, playKills } from '../support/play-kills.ts';

const SCHEMES = SIGNATURE_SCHEMES.filter((scheme): scheme is Scheme => scheme !== 'auto');

/** What the transaction of an event writes. */
const BRAKES = [
  COMMIT_BRAKE,
  ...['mirror.events', 'mirror_sync.event_seen', 'mirror_sync.hint'].map(tableBrake),
] as const;

/** Longest time between two events, whether the daemon lives or not. */
const EMIT_EACH_MS = 80;
/** Some dozens are delivered in that time. */
const AT_WORK_MS = 800;
/** The last deliveries are tried again for a minute; unchanged rows are hinted for half a minute. */
const QUIET_WITHIN_MS = 240_000;

export const deliveriesAttack: Attack = {
  name: 'deliveries',
  what: 'SIGKILL of the daemon while the service delivers, also while Postgres holds the transaction of an event',
  run: (options) => playKills(options, { usual: 200, play: playLane }),
};

interface LaneOptions extends KillsLane {
  /** Times that a delivery is tried again, from 100 ms on and doubled each time; the last is waited for at the end. */
  readonly retries?: number;
}

/**
 * One account whose daemon is killed again and again while the service delivers; then quiet, and the judgement.
 * Nothing polls: what has changed comes by the events alone.
 */
export async function playLane({ seed, kills, url, retries = 9, signal }: LaneOptions): Promise<GameResult> {
  const scheme = new Draw(seed).one(SCHEMES) ?? 'hex';
  const port = await nonEphemeralPort();
  const lives = await DaemonLives.open({
    seed,
    url,
    switches: {
      signature: scheme,
      deliveryParallel: 16,
      deliveryTimeoutMs: 3_000,
      deliveryRetries: retries,
      deliveryRetryMs: 100,
      deliveryDuplicate: 0.1,
      deliveryReorder: 0.05,
      deliveryForged: 0.1,
    },
    env: {
      MIRROR_PUBLIC_URL: `http://127.0.0.1:${port}`,
      MIRROR_WEBHOOK_PORT: String(port),
      MIRROR_POLL_CRON: 'never',
      MIRROR_FULL_CRON: 'never',
    },
  });
  const what = `signed by ${scheme}`;
  const over = new AbortController();
  let emitting: Promise<void> | undefined;
  try {
    await prepareCommitBrake(lives.db, 'insert on mirror.events');
    const first = await lives.finishIn(() => isRegistered(lives));
    first.child.kill('SIGKILL');
    await first.ended;

    emitting = keepEmitting(lives, over.signal);
    const seen = new Map<string, string>();
    for (let life = 0; life < kills; life += 1) {
      if (signal?.aborted === true) return lives.outcome(what);
      await lives.liveAndDie(() => delivered(lives), AT_WORK_MS, BRAKES);
      await watchRows(lives, seen);
    }
    over.abort();
    await emitting;
    await tellAgainOfWhatWasGivenUp(lives);
    await lives.endWell('quiet, and the mirror to equal the source', () => isQuiet(lives), QUIET_WITHIN_MS);
    await watchRows(lives, seen);
    await check(lives);
    return lives.outcome(what);
  } finally {
    over.abort();
    await emitting?.catch(() => {});
    await lives.close();
  }
}

async function isRegistered({ db }: DaemonLives): Promise<boolean> {
  const { rows } = await db.query(`select 1 from mirror_sync.registration where state = 'registered'`);
  return rows.length > 0;
}

/** Jobs change, and the service emits events of it, until the signal aborts. */
async function keepEmitting({ db, draw, sandbox }: DaemonLives, signal: AbortSignal): Promise<void> {
  const { rows } = await db.query<{ job_id: string }>('select job_id from mirror.research_jobs');
  for (let count = 1; !signal.aborted; count += 1) {
    const ids = Array.from({ length: draw.integer(1, 5) }, () => draw.one(rows)?.job_id ?? '');
    // Silently: that such a row has changed is told by the event alone.
    const change = {
      op: 'update',
      collection: 'research_jobs',
      fields: { note: count },
      silent: true,
    } as const;
    await sandbox.control.mutate(...ids.map((id) => ({ ...change, id })));
    await sandbox.control.emit({ type: 'research.completed', ids });
    await systemClock.sleep(draw.random() * EMIT_EACH_MS, signal).catch(() => {});
  }
}

/** Attempts that were answered with 2xx so far. */
async function delivered({ sandbox }: DaemonLives): Promise<number> {
  return (await sandbox.control.counters()).deliveries.delivered;
}

/** An event that the service gave up is lost: every row is emitted once more. */
async function tellAgainOfWhatWasGivenUp({ db, sandbox }: DaemonLives): Promise<void> {
  if ((await sandbox.control.counters()).deliveries.failed === 0) return;
  const { rows } = await db.query<{ job_id: string }>('select job_id from mirror.research_jobs');
  await sandbox.control.emit({ type: 'research.completed', ids: rows.map(({ job_id }) => job_id) });
}

async function isQuiet(lives: DaemonLives): Promise<boolean> {
  const { waiting, underWay } = (await lives.sandbox.control.counters()).deliveries;
  if (waiting + underWay > 0) return false;
  const { rows } = await lives.db.query('select 1 from mirror_sync.hint limit 1');
  return rows.length === 0 && (await lives.differences()).length === 0;
}

/** What is stored stays as it is, whatever is delivered again. */
async function watchRows(lives: DaemonLives, seen: Map<string, string>): Promise<void> {
  const rows = new Map((await rowsOf(lives)).map(({ id, receivedAt }) => [id, receivedAt]));
  for (const [id, receivedAt] of seen) {
    const now = rows.get(id);
    if (now === undefined) lives.find('lost', `${id} was stored, and is gone`);
    else if (now !== receivedAt) lives.find('false', `${id} was received at ${receivedAt}, and is at ${now}`);
  }
  for (const [id, receivedAt] of rows) seen.set(id, receivedAt);
}

async function rowsOf({ db }: DaemonLives): Promise<EventRow[]> {
  const { rows } = await db.query<EventRow>('select id, type, received_at::text as "receivedAt" from mirror.events');
  return rows;
}

async function check(lives: DaemonLives): Promise<void> {
  const rows = await rowsOf(lives);
  const attempts = await lives.sandbox.control.deliveries();
  lives.findings.push(...judge(rows, attempts));
  const { rows: known } = await lives.db.query<{ id: string }>(
    `select coalesce(s.id, e.id) as id from mirror_sync.event_seen s
     full join mirror.events e using (_user_id, id) where s.id is null or e.id is null`,
  );
  for (const { id } of known) lives.find('claim', `${id} is in one of events and event_seen only`);
  lives.count('events stored', rows.length);
  lives.count('deliveries', attempts.length);
  for (const { status, forged } of attempts)
    lives.count(`${forged ? 'forged ones' : 'deliveries'} answered ${status ?? 'nothing'}`);
  const { failed, forgedAccepted } = (await lives.sandbox.control.counters()).deliveries;
  lives.count('deliveries given up by the service', failed);
  if (forgedAccepted > 0) lives.find('false', `${forgedAccepted} forged deliveries were accepted`);
}
