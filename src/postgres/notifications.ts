import type { Clock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { messageOf } from '@research-mirror/runtime/message';
import { orAborted, service, type Service } from '@research-mirror/runtime/service';
import pg from 'pg';
import type { Db } from './db.ts';
import { type ConnectionOptions, onConnection, resolveConnection } from './pool.ts';
import { databaseError, isDatabaseDown } from './sql-state.ts';

/** A change of a table: one `NOTIFY <schema>_changes`. IDs are decimal digits of a bigint; `changeId` is the greatest. */
export type TableChange = Readonly<Record<'table' | 'userId' | 'changeId', string>>;

/** Notifies listeners of one change. Call after the commit; never throws. */
export async function notifyOnce(db: Db, { table, userId, changeId }: TableChange): Promise<void> {
  // The IDs are JSON numbers with all their digits.
  const payload = `{"schema":${JSON.stringify(db.schema)},"table":${JSON.stringify(table)},"user_id":${userId},"change_id":${changeId}}`;
  await db.sql`select pg_notify(${`${db.schema}_changes`}, ${payload})`.catch(() => {});
}

/** Least time between two rounds of notifications, ms. */
const COALESCE = 250;

/**
 * Notifies listeners of changed rows, coalesced: `{"schema","table","user_id","change_id"}`. One may be lost; failures
 * are ignored. In a page's transaction it would take a cluster-wide lock at commit.
 */
export function createNotifications(db: Db, clock: Clock) {
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
    /** Call after the commit. Never throws or waits. */
    changed: (change: TableChange) => {
      const key = `${change.userId}/${change.table}`;
      const waiting = pending.get(key);
      if (waiting === undefined || BigInt(waiting.changeId) < BigInt(change.changeId)) {
        pending.set(key, change);
        bell.ring();
      }
    },
  };
}

interface WakeupOptions {
  /** Past a transaction pooler, if possible. */
  readonly connection: ConnectionOptions;
  readonly schema: string;
  readonly clock: Clock;
  readonly log: { info(message: string): void; warn(message: string): void };
  /** Called if something may have happened. @param isRung false: LISTEN does not work, this is the look each second */
  readonly onWake: (isRung: boolean) => void;
}

/** LISTEN does not work if a notification to oneself takes longer, ms. */
const SELF_TEST = 2_000;
/** Interval of `onWake` while LISTEN does not work, ms. */
const POLL = 1_000;

/** Wakes the daemons of this mirror. Failures are ignored: daemons also look periodically. */
export async function wake(db: Db): Promise<void> {
  await db.sql`select pg_notify(${channelOf(db.schema)}, '')`.catch(() => {});
}

/** A function that runs `task` once at a time. Calls during a run share the next run, and resolve after it. */
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
 * Calls `onWake` when another program calls `wake`. Behind a transaction pooler LISTEN succeeds but delivers nothing:
 * then, and while the connection is gone, it calls `onWake` each second.
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
        // If the database is away, the heartbeat warns.
        if (!failing && !isDatabaseDown(error)) {
          log.warn(`wake-ups: ${messageOf(error)}. Looking each second until the database answers`);
        }
        failing = true;
      }
      ready();
      onWake(false);
      await clock.sleep(POLL, signal);
    }
    log.info(
      'LISTEN delivers nothing here (a transaction pooler?): looking each second instead. Set DATABASE_URL_DIRECT to connect past the pooler',
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
 * Listens on a connection of its own until that is gone. First it notifies itself to test LISTEN, which also wakes this
 * mirror's daemons. Another connection sends that notification: during a statement of the listener a pooler delivers.
 * @param onHeard called at once, for missed notifications, and at each one; left out: only tests LISTEN
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
