import { join } from 'node:path';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { MAJOR } from './binaries.ts';
import { ensureCluster, ensurePassword, secretFile } from './cluster.ts';
import { enter, type EmbeddedLog, type Installation } from './enter.ts';
import { findPlace, SYSTEM_FOLDER } from './place.ts';
import { runningPostmaster } from './postmaster.ts';
import type { Presence } from './presence.ts';
import { stopServer } from './server.ts';
import { usableFolder } from './usable-folder.ts';

export interface EmbeddedOptions {
  /** `MIRROR_DATA_DIR`; made where missing. */
  readonly dataDir: string;
  /** Of the loopback interface; a server that already runs on `dataDir` keeps the one that it has. */
  readonly port: number | 'free';
  /** `application_name` of this program's connection: `research-mirror start`. */
  readonly program: string;
  readonly log: EmbeddedLog;
  readonly clock: Clock;
  /** Ends the wait for the server. */
  readonly signal?: AbortSignal | undefined;
  /** Further settings of the server, when this program is the one to start it. */
  readonly settings?: Readonly<Record<string, string>>;
  /** false: initdb does not wait for the disk. For databases that nobody will miss. Default true. */
  readonly durable?: boolean;
  /** Default `/var/lib/research-mirror`. */
  readonly systemFolder?: string;
}

export interface EmbeddedServer {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/postgres`: a secret. */
  readonly url: string;
  readonly port: number;
  /** True when this program started the server, false when it found it running. */
  readonly owned: boolean;
  /** Of a login that only reads: made on first use, in a file beside the server's own password. */
  readerPassword(): Promise<string>;
  /**
   * Ends this program's presence; the last one out stops the server, whoever started it.
   * This program's other connections should be closed before: an open transaction is waited for a second.
   */
  stop(): Promise<void>;
}

/** Between two attempts to bring back a server that went away, milliseconds. */
const BACK_OFF = 2_000;
/** How long a stop waits for other transactions to end, milliseconds. */
const DRAIN = 1_000;

/**
 * Gives the embedded PostgreSQL of `dataDir`: connects to it where it runs (a second command; one that a killed
 * daemon left), else starts it, made on first use. While this program is present, a server that goes away is
 * brought back on the same port.
 * @throws Unusable with what is wrong and the remedy; the signal's reason
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { clock, log } = options;
  options.signal?.throwIfAborted();
  const dataDir = await usableFolder(options.dataDir);
  const place = await findPlace(dataDir, process.getuid?.() === 0, options.systemFolder ?? SYSTEM_FOLDER);
  const password = await ensurePassword(join(dataDir, `pg${MAJOR}-password`), place.cluster);
  await ensureCluster(place, password, options.durable ?? true, clock, options.signal);
  const installation: Installation = {
    place,
    password,
    clock,
    log,
    logFile: join(dataDir, `pg${MAJOR}.log`),
    settings: options.settings ?? {},
    program: options.program,
  };
  const { presence, port, url, owned } = await enter(installation, options.port, options.signal);
  if (options.port !== 'free' && options.port !== port) {
    log.info(`the embedded PostgreSQL of ${dataDir} already runs on port ${port}`);
  }

  const stopping = new AbortController();
  const kept = keepPresent(installation, presence, port, stopping.signal);
  let left: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    const present = await kept;
    if (present !== undefined) await leave(installation, present);
  };
  return {
    url,
    port,
    owned,
    readerPassword: () => secretFile(join(dataDir, `pg${MAJOR}-sql-password`)),
    stop: () => (left ??= stop()),
  };
}

/** Brings back a server that goes away, until `signal` aborts. @returns the presence of that moment, if there is one */
async function keepPresent(
  installation: Installation,
  first: Presence,
  port: number,
  signal: AbortSignal,
): Promise<Presence | undefined> {
  const { clock, log } = installation;
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  let presence: Presence | undefined = first;
  for (;;) {
    if (presence !== undefined) {
      await Promise.race([presence.lost, stopped]);
      if (signal.aborted) return presence;
      log.warn('the embedded PostgreSQL went away: bringing it back');
      presence = undefined;
    }
    try {
      ({ presence } = await enter(installation, port, signal));
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn(messageOf(error));
      await clock.sleep(BACK_OFF, signal).catch(() => {});
      if (signal.aborted) return undefined;
    }
  }
}

/** Ends the presence; stops the server where it was the last one. */
async function leave({ place, clock, log }: Installation, presence: Presence): Promise<void> {
  try {
    if (!(await presence.isLast())) {
      log.info('the embedded PostgreSQL goes on: another program uses it');
      return;
    }
    await presence.drain(DRAIN);
    const running = await runningPostmaster(place.cluster);
    if (running === undefined) return;
    const ending = await stopServer(running.pid, clock);
    if (ending === 'crashed') {
      log.warn('the embedded PostgreSQL was stopped the hard way: its next start recovers, nothing is lost');
    } else if (ending === 'alive') {
      log.warn(`the embedded PostgreSQL (process ${running.pid}) does not end: end it by hand`);
    }
  } catch (error) {
    log.warn(`the embedded PostgreSQL went away before it was stopped: ${messageOf(error)}`);
  } finally {
    await presence.end();
  }
}
