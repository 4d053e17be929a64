import { join } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { untilAborted } from '@research-mirror/runtime/service';
import { ensureDataDirectory, ensurePassword, secretFile } from './data-directory.ts';
import { findBinaries } from './binaries.ts';
import { connectOrStart, type ProgramSession, type ServerSetup } from './connect-or-start.ts';
import { ensureWritableFolder } from './embedded-state.ts';
import { findLocation, SYSTEM_FOLDER } from './location.ts';
import { runningPostmaster } from './postmaster.ts';
import { stopServer } from './server-process.ts';

export interface EmbeddedOptions extends Pick<ServerSetup, 'program' | 'log' | 'clock'> {
  /** `MIRROR_DATA_DIR`; created if it is missing. */
  readonly dataDir: string;
  /** `MIRROR_PG_BIN`: folder of a PostgreSQL of the machine's. Undefined: the one that npm brings. */
  readonly pgBin?: string | undefined;
  /** A port of the loopback interface. A server that already runs keeps its own. */
  readonly port: number | 'free';
  /** Ends the wait for the server. */
  readonly signal?: AbortSignal | undefined;
  /** Further settings of the server, used if this program starts it. */
  readonly settings?: Readonly<Record<string, string>>;
  /** false: initdb does not wait for the disk, for databases that may be lost. Default true. */
  readonly durable?: boolean;
  /** For files that PostgreSQL's user can't reach in `dataDir`. Default `/var/lib/research-mirror`. */
  readonly systemFolder?: string;
}

export interface EmbeddedServer {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/postgres`: a secret. */
  readonly url: string;
  readonly port: number;
  /** This program started the server. */
  readonly owned: boolean;
  /** Password of a login that can only read: created on first use, in a file beside the server's password. */
  readerPassword(): Promise<string>;
  /** Ends this program's registration; the last one stops the server. Close other connections before: it rolls back. */
  stop(): Promise<void>;
}

/** Between two attempts to restart a server. */
const RESTART_DELAY_MS = 2_000;

/**
 * Connects to the embedded PostgreSQL of `dataDir` if it runs, otherwise starts it. The first start creates the
 * database. Until `stop`, a server that stops unexpectedly is restarted on the same port.
 * @throws Unusable with what is wrong and the remedy; the signal's reason
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { clock, log } = options;
  options.signal?.throwIfAborted();
  const dataDir = await ensureWritableFolder(options.dataDir);
  const location = await findLocation(
    dataDir,
    process.getuid?.() === 0,
    options.systemFolder ?? SYSTEM_FOLDER,
    await findBinaries(options.pgBin),
  );
  const stem = join(dataDir, `pg${location.major}`);
  const password = await ensurePassword(`${stem}-password`, location.pgData);
  await ensureDataDirectory(location, password, options.durable ?? true, clock, options.signal);
  const setup: ServerSetup = {
    location,
    password,
    clock,
    log,
    logFile: `${stem}.log`,
    settings: options.settings ?? {},
    program: options.program,
  };
  const { session, port, url, owned } = await connectOrStart(setup, options.port, options.signal);
  const foreign = await session.foreignCollation();
  if (foreign !== undefined) {
    await release(setup, session);
    throw new Unusable(
      `the embedded database in ${location.pgData} was sorted with ${foreign}: its indexes would miss rows. ` +
        'Run it with the PostgreSQL that made it (MIRROR_PG_BIN, or the version of research-mirror before), or set ' +
        'MIRROR_DATA_DIR to another folder.',
    );
  }
  if (options.port !== 'free' && options.port !== port)
    log.info(`the embedded PostgreSQL of ${dataDir} already runs on port ${port}`);

  const stopping = new AbortController();
  const lastSession = keepRunning(setup, session, port, stopping.signal);
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    const open = await lastSession;
    if (open !== undefined) await release(setup, open);
  };
  return {
    url,
    port,
    owned,
    readerPassword: () => secretFile(`${stem}-sql-password`),
    stop: () => (stopped ??= stop()),
  };
}

/** Restarts a server that stops unexpectedly, until `signal` aborts. @returns the session that is open then */
async function keepRunning(setup: ServerSetup, first: ProgramSession, port: number, signal: AbortSignal) {
  const { clock, log } = setup;
  const stopped = untilAborted(signal);
  let session: ProgramSession | undefined = first;
  for (;;) {
    if (session !== undefined) {
      await Promise.race([session.lost, stopped]);
      if (signal.aborted) return session;
      log.warn('the embedded PostgreSQL stopped unexpectedly: restarting it');
      session = undefined;
    }
    try {
      const again = await connectOrStart(setup, port, signal);
      session = again.session;
      if (again.port !== port) {
        log.warn(
          `the embedded PostgreSQL is now on port ${again.port}, as another program set it. Start this program again`,
        );
      }
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn(messageOf(error));
      await clock.sleep(RESTART_DELAY_MS, signal).catch(() => {});
      if (signal.aborted) return undefined;
    }
  }
}

/** Closes the session, and stops the server if no other program is registered. */
async function release({ location, clock, log }: ServerSetup, session: ProgramSession): Promise<void> {
  try {
    if (!(await session.lockOthersOut())) {
      log.info('the embedded PostgreSQL keeps running: another program uses it');
      return;
    }
    const running = await runningPostmaster(location.pgData);
    if (running === undefined) return;
    const outcome = await stopServer(running.pid, clock);
    if (outcome === 'crashed') {
      log.warn('the embedded PostgreSQL was stopped without a checkpoint: its next start recovers; nothing is lost');
    } else if (outcome === 'alive') {
      log.warn(`the embedded PostgreSQL (process ${running.pid}) does not stop. Stop it by hand`);
    }
  } catch (error) {
    log.warn(`the connection to the embedded PostgreSQL was lost before the stop: ${messageOf(error)}`);
  } finally {
    await session.close();
  }
}
