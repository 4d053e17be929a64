/** Whether this is the database that was here before: signs of life, copies, databases that went back, holds. */

import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { service } from '@research-mirror/runtime/service';
import { type Db, onlyRow, type ServerNode } from './db.ts';
import {
  compareFingerprints,
  type Fingerprint,
  hasNewTimeline,
  isStoredDatabase,
  type KnownNodes,
  mayLackCommits,
  mergeFingerprints,
  nodeExpression,
  observeFingerprint,
  readFingerprint,
  withNode,
} from './fingerprint.ts';
import { HEARTBEAT } from './heartbeat.ts';
import { type Hold, holdFor, type InstallationRow, lockInstallation, markRecovery } from './hold.ts';
import { isDatabaseDown } from './sql-state.ts';

/**
 * A database that was restored, copied, branched or failed over may have lost commits. It must not resend queued
 * submissions or take a webhook from its original (decision 0009). The row `installation` shows whether this is the
 * database that was here before, with a daemon running on it since. If not, all accounts are reread (hold.ts), and
 * queued submissions that may have been sent are on hold until a user releases them.
 */

export interface InstallationOptions {
  readonly db: Db;
  /** `endpointHost` of DATABASE_URL_DIRECT, or else of the URL of `db`. */
  readonly host: string | undefined;
  /** MIRROR_SUBMIT, MIRROR_SUBMIT_MAX_QUEUED, for `<schema>.submit`. Left out: the process writes no signs of life. */
  readonly submit?: { readonly enabled: boolean; readonly maxQueued: number };
  readonly clock: Clock;
}

/** This process's last look at the database, and whether it ran since, without a gap in which that might have gone back. */
type LastLook = Readonly<{ aliveAt: Date | undefined; watched: boolean }>;

/**
 * Checks whether this is the same database as before. Every process calls it before it sends or writes. If only the
 * host is new, it waits up to 13 s for a heartbeat of an earlier process.
 * @param last undefined: this is the process's first look
 * @returns the current hold, and the last sign of life that is stored
 */
export async function openInstallation(options: InstallationOptions, signal?: AbortSignal, last?: LastLook) {
  const { db, clock } = options;
  const seen = await observe(db, options.host);
  const check = (host: 'ask' | 'same' | 'copy') => checkInstallation(options, seen, host, last);
  const found = (await check('ask')) ?? (await check((await isServedByOthers(db, clock, signal)) ? 'same' : 'copy'));
  if (found === undefined) throw new RangeError('a new host was judged as such twice');
  return found;
}

/** Interval of looks for a heartbeat, ms. */
const RETRY_EVERY = 1_000;

/**
 * Whether an earlier process still writes heartbeats: then this is no copy, since in a copy its row does not change.
 * Answers at once if no such row is fresh, else within the validity of a heartbeat.
 */
async function isServedByOthers(db: Db, clock: Clock, signal?: AbortSignal): Promise<boolean> {
  const first = await earlierProcesses(db);
  if (!first.some(({ fresh }) => fresh)) return false;
  for (let waited = 0; waited <= HEARTBEAT.validFor; waited += RETRY_EVERY) {
    await clock.sleep(RETRY_EVERY, signal);
    const now = await earlierProcesses(db);
    if (now.some(({ id, until }) => first.some((before) => before.id === id && until > before.until))) {
      return true;
    }
  }
  return false;
}

/** Processes that began before the installation's last sign of life. Later ones may have begun in a copy. */
async function earlierProcesses(db: Db) {
  const { rows } = await db.sql<{ id: string; until: Date; fresh: boolean }>`
    select p.process_id as id, p.alive_until as until, p.alive_until > clock_timestamp() as fresh
    from ${db.stateTable('process')} as p
    where p.started_at < (select alive_at from ${db.stateTable('installation')})`;
  return rows;
}

/** The fingerprint of the database, and the servers that have accounts (several on Citus). */
async function observe(db: Db, host: string | undefined) {
  const fingerprint = await observeFingerprint(db, host);
  const node = await nodeExpression(db);
  const { rows } = await db.sql<{ node: ServerNode }>`
    select distinct ${node} as node from ${db.stateTable('account')}`;
  const own: ServerNode = [fingerprint.system, fingerprint.timeline];
  return { fingerprint, nodes: [own, ...rows.map((row) => row.node)] };
}

async function storeFingerprint(trx: Db, fingerprint: Fingerprint, nodes: KnownNodes): Promise<void> {
  await trx.sql`
    update ${trx.stateTable('installation')}
    set fingerprint = ${JSON.stringify(fingerprint)}::text::jsonb, nodes = ${JSON.stringify(nodes)}::text::jsonb
    where singleton`;
}

/**
 * @param host what a database is if only its host is new; `ask`: not known yet
 * @returns undefined, nothing written: only the host is new, and `host` is `ask`
 */
async function checkInstallation(
  { db, submit }: InstallationOptions,
  seen: Awaited<ReturnType<typeof observe>>,
  host: 'ask' | 'same' | 'copy',
  last: LastLook | undefined,
) {
  return db.transaction(async (trx) => {
    const row = await lockInstallation(trx);
    const { now } = row;
    const before = readFingerprint(row.fingerprint);
    const stake = await atStake(trx);
    const difference = before && compareFingerprints(before, seen.fingerprint);
    const another = [
      ...(difference?.another ?? []),
      ...(difference?.another.length === 0 && seen.nodes.some((node) => hasNewTimeline(row.nodes, node))
        ? ['a server that holds accounts was restored from a backup, or its standby took over']
        : []),
      ...(isSetBack(row, last?.aliveAt) ? ['it lost the last writes of this daemon'] : []),
    ];
    const newHost = difference?.newHost === true && host !== 'same';
    const atRisk = stake.open || stake.registered;
    if (newHost && host === 'ask' && another.length === 0 && atRisk && row.held_at === null) return undefined;
    const wentBack =
      another.length > 0
        ? `this is not the database that was here before: ${another.join(', ')}`
        : newHost && host === 'copy'
          ? `the database has another host than before (${seen.fingerprint.hosts.join(', ')}): it may be a copy`
          : undefined;
    // Later, the process's own commits show whether any are lost. (Claims never are: they are on disk.)
    const crashed = last?.aliveAt === undefined && before && mayLackCommits(before, seen.fingerprint);
    const reason = wentBack ?? (crashed === true ? CRASHED : undefined);
    if (reason !== undefined) await markRecovery(trx, row, reason);
    const copied = atRisk ? (wentBack ?? (before === undefined ? UNKNOWN_ORIGIN : undefined)) : undefined;
    // A gap that this process watched is a step of the clock.
    const isGap = submit !== undefined && last?.watched !== true;
    const gap = isGap && stake.queued ? now.getTime() - (row.alive_at ?? now).getTime() : 0;
    const why = copied ?? (gap > LONGEST_GAP ? afterGap(gap) : undefined);
    const same = difference?.another.length === 0;
    const fingerprint = mergeFingerprints(same ? before : undefined, seen.fingerprint);
    const nodes = seen.nodes.reduce(withNode, same ? row.nodes : {});
    await storeFingerprint(trx, fingerprint, nodes);
    // Rises whatever the clock does: an earlier one shows that the database was set back.
    const aliveAt = submit === undefined ? row.alive_at : new Date(Math.max(now.getTime(), Number(row.alive_at) + 1));
    if (submit !== undefined) {
      await trx.sql`
        update ${trx.stateTable('installation')}
        set alive_at = ${aliveAt}::timestamptz,
          settings = settings || ${JSON.stringify({ submit })}::text::jsonb
        where singleton`;
    }
    const hold = await holdFor(trx, row, now, why);
    return { hold, aliveAt: aliveAt ?? undefined };
  });
}

const CRASHED = 'the server crashed while synchronous_commit was off: the last commits may be lost';

const UNKNOWN_ORIGIN = 'they were here before any daemon saw this database: they may have been sent from another one';

/** Whether this process's last sign of life is lost. */
function isSetBack(row: Pick<InstallationRow, 'alive_at'>, lastAliveAt: Date | undefined): boolean {
  return lastAliveAt !== undefined && (row.alive_at === null || row.alive_at < lastAliveAt);
}

/** Whether the database differs from this process's last look, or needs a sign of life. Cheap. */
async function looksOther(db: Db, lastAliveAt: Date | undefined): Promise<boolean> {
  const node = await nodeExpression(db);
  type Found = Pick<InstallationRow, 'nodes' | 'alive_at'>;
  const { rows } = await db.sql<Found & { same: boolean; node: ServerNode; silent: boolean }>`
    select ${isStoredDatabase(db)} as same, nodes, ${node} as node, alive_at,
      alive_at < clock_timestamp() - ${`${LONGEST_GAP} ms`}::interval as silent
    from ${db.stateTable('installation')}`;
  const [row] = rows;
  if (row === undefined || !row.same || hasNewTimeline(row.nodes, row.node)) return true;
  // Silent: the clock stepped, and nothing may be sent before the next sign of life.
  return row.silent || isSetBack(row, lastAliveAt);
}

/** Whether there are unfinished submissions, queued ones, and a webhook that this mirror registered. */
async function atStake(trx: Db) {
  const submissions = trx.table('submissions');
  const found = await trx.sql<{ open: boolean; queued: boolean; registered: boolean }>`
    select exists (select 1 from ${submissions} where state in ('queued', 'sending', 'held')) as open,
      exists (select 1 from ${submissions} where state = 'queued') as queued,
      exists (select 1 from ${trx.stateTable('own_url')}) as registered`;
  return onlyRow(found);
}

/** Why queued submissions are on hold after a gap (ms). A submission that is being sent is never sent again. */
function afterGap(gap: number): string {
  return `no daemon ran for ${Math.floor(gap / 60_000)} minutes by the database’s clock while submissions were queued: the database may have been restored`;
}

/** Why the original's queued submissions are not sent. */
const COPIED = 'this mirror is a copy: the original may have sent what was queued';

/**
 * Makes a copy a database of its own, in the transaction that copied the rows: it is on hold, all accounts are reread,
 * and change IDs continue above the original's (decision 0009).
 * @param host `endpointHost` of its URL
 */
export async function markCopied(trx: Db, host: string | undefined): Promise<void> {
  const row = await lockInstallation(trx);
  await markRecovery(trx, row, COPIED);
  const fingerprint = await observeFingerprint(trx, host);
  await storeFingerprint(trx, fingerprint, withNode({}, [fingerprint.system, fingerprint.timeline]));
  // A hold of its own, whether or not the original has one.
  await holdFor(trx, { held_at: null, held_why: null }, row.now, COPIED);
}

/** Interval of looks, ms: the database's going back is noticed within it. */
const LOOK_EVERY = 4_000;
/** Interval of signs of life, ms: well below LONGEST_GAP. */
const BEAT_EVERY = 60_000;

/** Watches that the database stays the same, and writes signs of life. Start it before anything is sent. */
export function createInstallation(
  options: InstallationOptions & {
    readonly log: { warn(message: string): void; info(message: string): void };
  },
) {
  const { db, clock, log } = options;
  let hold: Hold | undefined;
  let aliveAt: Date | undefined;
  let lookedAt = { monotonic: Number.NEGATIVE_INFINITY, wall: 0 };

  /** Both clocks agree: the process was neither asleep nor set back with its machine. */
  const hasWatched = ({ monotonic, wall }: typeof lookedAt): boolean => {
    const passed = monotonic - lookedAt.monotonic;
    return passed < LONGEST_GAP && Math.abs(wall - lookedAt.wall - passed) < BEAT_EVERY;
  };

  const look = async (signal: AbortSignal): Promise<void> => {
    const now = { monotonic: clock.monotonic(), wall: clock.now() };
    const result = await openInstallation(options, signal, { aliveAt, watched: hasWatched(now) });
    lookedAt = now;
    ({ aliveAt } = result);
    db.known.lastSign = aliveAt ?? db.known.lastSign;
    const found = result.hold;
    if (found !== undefined && hold === undefined) {
      log.warn(
        `queued submissions are on hold: ${found.why}. If none of them was sent: "research-mirror submissions release"`,
      );
    }
    if (found === undefined && hold !== undefined) log.info('the hold is over: submissions are sent');
    hold = found;
  };

  const running = service('installation', async ({ signal, ready }) => {
    await look(signal);
    ready();
    let failing = false;
    for (let sinceBeat = 0; ;) {
      await clock.sleep(LOOK_EVERY, signal);
      sinceBeat += LOOK_EVERY;
      try {
        if (sinceBeat < BEAT_EVERY && !(await looksOther(db, aliveAt))) continue;
        await look(signal);
        sinceBeat = 0;
        failing = false;
      } catch (error) {
        signal.throwIfAborted();
        // If the database is away, the heartbeat warns. After ten minutes without signs of life nothing is sent.
        if (!failing && !isDatabaseDown(error)) log.warn(`installation: ${messageOf(error)}`);
        failing = true;
      }
    }
  });
  return { ...running, /** As of the last look. */ hold: () => hold };
}

/** Time without a daemon, ms, after which another database may have sent queued submissions. */
const LONGEST_GAP = 600_000;

/**
 * Whether the fenced transaction `trx` may claim a submission: the database is the same as at the last look (the fence
 * checks server and timeline), signs of life are recent, and this process's own is there.
 * @throws RangeError without `openInstallation` before it
 */
export async function maySend(trx: Db, now: Date): Promise<boolean> {
  const { rows } = await trx.sql<{ same: boolean; alive_at: Date | null }>`
    select ${isStoredDatabase(trx)} as same, alive_at from ${trx.stateTable('installation')}`;
  const [row] = rows;
  if (row === undefined) throw new RangeError('openInstallation comes before the first submission');
  if (!row.same || row.alive_at === null || isSetBack(row, trx.known.lastSign)) return false;
  return row.alive_at.getTime() > now.getTime() - LONGEST_GAP;
}
