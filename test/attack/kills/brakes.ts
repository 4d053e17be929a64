import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { hasEnded, type Running } from '../../support/processes/program.ts';
import type { GameRecord } from '../support/attack.ts';
import type { Draw } from '../support/draw.ts';
import { hasCitus } from '../../support/databases/distributed-database.ts';

/** A place in a page's transaction at which Postgres can be made to wait. */
export interface Brake {
  /** As the summary names it. */
  readonly name: string;
  /** Statement that takes the lock, in a transaction. */
  readonly lock: string;
  /** Condition on `pg_locks` that finds who waits for it. */
  readonly waiter: string;
}

const COMMIT_LOCK = 4711;

/** Tables that a page, a deletion, a walk's end or a heartbeat writes. Their lock lets readers pass. */
const TABLES = [
  ...['account', 'scope', 'unsettled', 'candidate', 'deletions', 'slot_block', 'process'].map(
    (name) => `mirror_sync.${name}`,
  ),
  ...['_collections', 'sync_log'].map((name) => `mirror.${name}`),
  ...['research_jobs', 'lists', 'list_items', 'watchlist'].flatMap((name) => [
    `mirror.${name}`,
    `mirror.${name}_history`,
  ]),
];

/** COMMIT itself: needs `prepareCommitBrake`. */
export const COMMIT_BRAKE: Brake = {
  name: 'COMMIT',
  lock: `select pg_advisory_xact_lock(${COMMIT_LOCK})`,
  waiter: `locktype = 'advisory' and objid = ${COMMIT_LOCK}`,
};

/** Every statement that writes to a table. */
export function tableBrake(table: string): Brake {
  return {
    name: table,
    // A SELECT … FOR NO KEY UPDATE waits for this one, too.
    lock: `lock table ${table} in exclusive mode`,
    waiter: `locktype = 'relation' and relation = '${table}'::regclass`,
  };
}

/**
 * Brakes on each statement of a commit, from Postgres's side: a lock on the table that it writes; and one on COMMIT
 * itself, by a deferred trigger of the test's own that waits for an advisory lock.
 */
export const BRAKES: readonly [Brake, ...Brake[]] = [COMMIT_BRAKE, ...TABLES.map(tableBrake)];

/**
 * Makes the trigger that lets COMMIT wait where one of these writes was done in the transaction. Distributed tables of
 * Citus have no triggers: there COMMIT does not wait, and the kill comes at a moment of its own.
 */
export async function prepareCommitBrake(db: pg.Pool, writes = 'insert or update on mirror_sync.scope'): Promise<void> {
  if (await hasCitus(db)) return;
  await db.query(`
    create function attack_wait() returns trigger language plpgsql set search_path = '' as
    $$ begin perform pg_catalog.pg_advisory_xact_lock_shared(${COMMIT_LOCK}); return null; end $$;
    create constraint trigger attack_wait after ${writes}
    deferrable initially deferred for each row execute function attack_wait()`);
}

/** Puts a brake on; undefined where another transaction does not let go within a second. */
export async function brake(db: pg.Pool, { lock, waiter }: Brake) {
  const client = await db.connect();
  // The server may be taken away under it.
  const ignore = (): void => {};
  client.on('error', ignore);
  let released: Promise<void> | undefined;
  const giveBack = async (): Promise<void> => {
    await client.query('rollback').catch(() => {});
    client.off('error', ignore);
    client.release();
  };
  try {
    await client.query(`begin; set local lock_timeout = 1000; set local idle_in_transaction_session_timeout = 20000`);
    await client.query(lock);
  } catch {
    await giveBack();
    return undefined;
  }
  return {
    /** Whether a session waits by now. */
    async blocks(): Promise<boolean> {
      const { rows } = await db.query(`select 1 from pg_locks where not granted and ${waiter} limit 1`);
      return rows.length > 0;
    },
    release: (): Promise<void> => (released ??= giveBack()),
  };
}

/** Lets a statement wait, and kills the program while it does, or just as it goes on. @returns where */
export async function killBlocked(
  game: GameRecord & { readonly draw: Draw },
  db: pg.Pool,
  program: Running,
  chosen: Brake,
): Promise<string> {
  const { draw } = game;
  const braking = await brake(db, chosen);
  if (braking === undefined) return 'at a moment';
  try {
    await eventually('a statement', async () => hasEnded(program) || braking.blocks(), 2_000).catch(() => {});
    const blocked = !hasEnded(program) && (await braking.blocks());
    if (blocked) game.count('in a commit');
    if (blocked) game.count(`at ${chosen.name}`);
    // Some wait for as long as a busy server lets them.
    if (draw.chance(0.3)) await systemClock.sleep(draw.random() * 1_500);
    // In half of them the statement goes on just before: the kill then races with the rest of the commit.
    if (draw.chance(0.5)) {
      await braking.release();
      await systemClock.sleep(draw.random() * 4);
    }
    program.child.kill('SIGKILL');
    return `${blocked ? 'at' : 'before'} ${chosen.name}`;
  } finally {
    await braking.release();
  }
}
