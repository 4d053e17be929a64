import type { Db } from '../connection/db.ts';
import pg from 'pg';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { service, type Service } from '@research-mirror/runtime/service';
import { resolveConnection, type ConnectionOptions } from '../connection/pool.ts';
import { databaseError, isDatabaseDown } from '../connection/sql-state.ts';

export interface WakeupOptions {
  /** Unpooled where there is such a way. */
  readonly connection: ConnectionOptions;
  readonly schema: string;
  readonly clock: Clock;
  readonly log: { info(message: string): void; warn(message: string): void };
  /**
   * Called when something may have happened, and sometimes when nothing did.
   * @param isRung false: nobody said anything, and nobody could have: it is called each second
   */
  readonly onWake: (isRung: boolean) => void;
}

/** How long a notification to oneself may take before LISTEN counts as dead, milliseconds. */
const SELF_TEST = 2_000;
/** Between two looks where LISTEN does not work, milliseconds. */
const POLL = 1_000;

/** Wakes the daemons of this mirror. A failure is ignored: they also look now and then by themselves. */
export async function wake(db: Db): Promise<void> {
  await db.sql`select pg_notify(${channelOf(db.schema)}, '')`.catch(() => {});
}

/**
 * Calls `onWake` when another program calls `wake`. Behind a transaction pooler LISTEN succeeds and delivers nothing,
 * so this first sends itself a notification. Where that does not come, and while the connection is gone, it calls
 * `onWake` each second.
 */
export function createWakeups(options: WakeupOptions): Service {
  const { clock, log, onWake } = options;
  return service('wake-ups', async ({ signal, ready }) => {
    let failing = false;
    /** @returns whether to try again; false: LISTEN delivers nothing here */
    const listenOnce = async (): Promise<boolean> => {
      const listener = await Listener.connect(options, signal);
      try {
        if (!(await listener.hears(clock, signal))) return false;
        failing = false;
        ready();
        await listener.listen(() => onWake(true), signal);
        return true;
      } finally {
        await listener.end();
      }
    };
    let again = true;
    while (again) {
      try {
        again = await listenOnce();
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

/**
 * Whether LISTEN delivers anything on this connection: it does not behind a transaction pooler. Wakes the daemons of
 * this mirror once more than needed.
 * @throws DatabaseUnavailable, Unusable; the signal's reason
 */
export async function listenWorks(
  options: Pick<WakeupOptions, 'connection' | 'schema' | 'clock'>,
  signal: AbortSignal,
): Promise<boolean> {
  const listener = await Listener.connect(options, signal);
  try {
    return await listener.hears(options.clock, signal);
  } finally {
    await listener.end();
  }
}

function channelOf(schema: string): string {
  return `${schema}_wake`;
}

/** A connection only for LISTEN. */
class Listener {
  readonly #client: pg.Client;
  readonly #config: pg.ClientConfig;
  readonly #channel: string;
  readonly #lost: Promise<void>;
  #onNotification: () => void = () => {};

  private constructor(client: pg.Client, config: pg.ClientConfig, channel: string) {
    this.#client = client;
    this.#config = config;
    this.#channel = channel;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#lost = promise;
    client.on('error', () => resolve());
    client.on('end', () => resolve());
    client.on('notification', () => this.#onNotification());
  }

  static async connect(
    { connection, schema }: Pick<WakeupOptions, 'connection' | 'schema'>,
    signal: AbortSignal,
  ): Promise<Listener> {
    const config = await unlessAborted(signal, resolveConnection(connection));
    const client = new pg.Client(config);
    const listener = new Listener(client, config, channelOf(schema));
    try {
      await unlessAborted(signal, client.connect());
      await client.query(`listen ${client.escapeIdentifier(listener.#channel)}`);
    } catch (error) {
      void listener.end();
      throw databaseError(error);
    }
    return listener;
  }

  /**
   * Whether a notification arrives. Another connection sends it: while a statement of the listener runs, a pooler
   * does pass notifications on.
   */
  async hears(clock: Clock, signal: AbortSignal): Promise<boolean> {
    const heard = new Promise<boolean>((resolve) => {
      this.#onNotification = () => resolve(true);
    });
    const other = new pg.Client(this.#config);
    other.on('error', () => {});
    try {
      await unlessAborted(signal, other.connect());
      await other.query('select pg_notify($1, $2)', [this.#channel, '']);
    } finally {
      void other.end().catch(() => {});
    }
    return Promise.race([heard, clock.sleep(SELF_TEST, signal).then(() => false)]);
  }

  /** Calls `onWake` now, for what was missed, and at each notification until the connection is gone. */
  async listen(onWake: () => void, signal: AbortSignal): Promise<void> {
    this.#onNotification = onWake;
    onWake();
    await unlessAborted(signal, this.#lost);
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => {});
  }
}

/** Waits for `task`, or throws the signal's reason as soon as it is aborted; the task itself goes on then. */
async function unlessAborted<T>(signal: AbortSignal, task: Promise<T>): Promise<T> {
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([task, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
