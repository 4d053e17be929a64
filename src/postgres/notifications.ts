import type { Clock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { messageOf } from '@research-mirror/runtime/message';
import { orAborted, service, type Service } from '@research-mirror/runtime/service';
import pg from 'pg';
import type { Db } from './db.ts';
import { type ConnectionOptions, onConnection, resolveConnection } from './pool.ts';
import { databaseError, isDatabaseDown } from './sql-state.ts';

/** Rows of a table that changed: one `NOTIFY <schema>_changes`. */
export interface TableChange {
  readonly table: string;
  /** Decimal digits of a bigint, as `changeId`. */
  readonly userId: string;
  /** The greatest `_change_id`. */
  readonly changeId: string;
}

interface Notifications extends Service {
  /** Called after the commit. Never throws or waits. */
  changed(change: TableChange): void;
}

/** Notifies listeners of one change, for a command. Called after the commit; never throws. */
export async function notifyOnce(db: Db, change: TableChange): Promise<void> {
  await db.sql`select pg_notify(${`${db.schema}_changes`}, ${payload(db.schema, change)})`.catch(() => {});
}

/** Least time between two notifications for a table and account, ms. */
const COALESCE = 250;

/**
 * Notifies listeners of the mirror of changed rows: `{"schema","table","user_id","change_id"}`, coalesced. A
 * notification may be lost, and a failure is ignored. It is outside the page's transaction, where it would take a
 * cluster-wide lock at commit.
 */
export function createNotifications(db: Db, clock: Clock): Notifications {
  const bell = new Doorbell();
  const pending = new Map<string, TableChange>();
  const flush = async (): Promise<void> => {
    const changes = [...pending.values()];
    pending.clear();
    for (const change of changes) await notifyOnce(db, change);
  };
  const running = service('notifications', async ({ signal, ready }) => {
    ready();
    try {
      for (;;) {
        await bell.heard(signal);
        await flush();
        await clock.sleep(COALESCE, signal);
      }
    } finally {
      await flush();
    }
  });
  return {
    ...running,
    changed: (change) => {
      const key = `${change.userId}/${change.table}`;
      const waiting = pending.get(key);
      if (waiting === undefined || BigInt(waiting.changeId) < BigInt(change.changeId)) {
        pending.set(key, change);
        bell.ring();
      }
    },
  };
}

/** Writes digits as JSON numbers, without losing any. */
function payload(schema: string, { table, userId, changeId }: TableChange): string {
  return `{"schema":${JSON.stringify(schema)},"table":${JSON.stringify(table)},"user_id":${userId},"change_id":${changeId}}`;
}

interface WakeupOptions {
  /** Without a pooler, if possible. */
  readonly connection: ConnectionOptions;
  readonly schema: string;
  readonly clock: Clock;
  readonly log: { info(message: string): void; warn(message: string): void };
  /**
   * Called if something may have happened; may be called without a reason.
   * @param isRung false: LISTEN does not work, so it is called each second
   */
  readonly onWake: (isRung: boolean) => void;
}

/** Longest time of a notification to oneself before LISTEN counts as dead, ms. */
const SELF_TEST = 2_000;
/** Interval of looks while LISTEN does not work, ms. */
const POLL = 1_000;

/** Wakes the daemons of this mirror. A failure is ignored: they also look periodically. */
export async function wake(db: Db): Promise<void> {
  await db.sql`select pg_notify(${channelOf(db.schema)}, '')`.catch(() => {});
}

/**
 * A function that runs `task` once at a time; calls during a run share the next one. It resolves after a run that began
 * after the call.
 */
export function coalesced(task: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= underWay
      .catch(() => {})
      .then(() => {
        next = undefined;
        underWay = task();
        return underWay;
      });
    return next;
  };
}

/**
 * Calls `onWake` if another program calls `wake`. Behind a transaction pooler LISTEN succeeds but delivers nothing, so
 * it sends itself a notification first. If that does not arrive, and while the connection is gone, it calls `onWake`
 * each second.
 */
export function createWakeups(options: WakeupOptions): Service {
  const { clock, log, onWake } = options;
  return service('wake-ups', async ({ signal, ready }) => {
    let failing = false;
    const onHeard = (): void => {
      failing = false;
      ready();
      onWake(true);
    };
    let again = true;
    while (again) {
      try {
        again = await listen(options, signal, onHeard);
      } catch (error) {
        signal.throwIfAborted();
        // Where the database is away, the heartbeat warns.
        if (!failing && !isDatabaseDown(error))
          log.warn(`wake-ups: ${messageOf(error)}; looking each second until the database answers`);
        failing = true;
      }
      ready();
      onWake(false);
      await clock.sleep(POLL, signal);
    }
    log.info(
      'LISTEN delivers nothing here (a transaction pooler?): looking each second instead; DATABASE_URL_DIRECT helps',
    );
    for (;;) {
      onWake(false);
      await clock.sleep(POLL, signal);
    }
  });
}

function channelOf(schema: string): string {
  return `${schema}_wake`;
}

/**
 * Listens on a connection of its own until that is gone. First it notifies itself, which wakes this mirror's daemons
 * once more than needed. Another connection sends that notification: during a statement of the listener, a pooler does
 * deliver notifications.
 * @param onHeard called at once, for what was missed, and at each notification; left out: only tests whether LISTEN
 *   delivers
 * @returns whether LISTEN delivers; false behind a transaction pooler
 * @throws DatabaseUnavailable, Unusable; the signal's reason
 */
export async function listen(
  { connection, schema, clock }: Pick<WakeupOptions, 'connection' | 'schema' | 'clock'>,
  signal: AbortSignal,
  onHeard?: () => void,
): Promise<boolean> {
  const config = await orAborted(resolveConnection(connection), signal);
  const client = new pg.Client(config);
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve());
    client.on('end', () => resolve());
  });
  try {
    await orAborted(client.connect(), signal);
    const channel = channelOf(schema);
    await client.query(`listen ${client.escapeIdentifier(channel)}`);
    const first = new Promise<boolean>((resolve) => client.once('notification', () => resolve(true)));
    const notify = onConnection(config, (other) => other.query('select pg_notify($1, $2)', [channel, '']));
    await orAborted(notify, signal);
    if (!(await Promise.race([first, clock.sleep(SELF_TEST, signal).then(() => false)]))) return false;
    if (onHeard === undefined) return true;
    client.on('notification', onHeard);
    onHeard();
    await orAborted(lost, signal);
    return true;
  } catch (error) {
    throw databaseError(error);
  } finally {
    await client.end().catch(() => {});
  }
}
