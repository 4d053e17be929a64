import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { RemoteClock } from '@research-mirror/runtime/remote-clock';
import { service } from '@research-mirror/runtime/service';
import { sql } from 'kysely';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { AHEAD_MS, hasCome } from './clock-step.ts';
import { databaseTime, type Db } from './db.ts';

export interface HeartbeatOptions {
  /** Best with a connection that pages do not use: a heartbeat must not wait. */
  readonly db: Db;
  /** A random UUID for each run of a program. */
  readonly processId: string;
  readonly identity: ProcessIdentity;
  /** For users: `start`. */
  readonly command: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: { warn(message: string): void; info(message: string): void };
  /** Called after each attempt, with the error of a failed one. */
  readonly onBeat?: ((error?: unknown) => void) | undefined;
  /** Called after each heartbeat. Its failure is logged. */
  readonly afterBeat?: () => Promise<void>;
  /** Called with the step (ms) if the database's clock stepped since the last heartbeat. */
  readonly onClockStep?: (byMs: number) => void;
}

/** Milliseconds (docs/design/ownership.md, "Heartbeat"). */
export const HEARTBEAT = {
  beatEvery: 4_000,
  /** For other processes, by the database's clock. */
  validFor: 12_000,
  /** For the process itself, from the start of a heartbeat: shorter, by more than clocks drift. */
  trustedFor: 10_000,
} as const;

/** How long the row of a killed process is kept for users, ms. */
const REMEMBERED = 3_600_000;
/** Delay after a failed heartbeat, ms. */
const TRY_AGAIN = 1_000;

export type Heartbeat = ReturnType<typeof createHeartbeat>;

/**
 * Registers the process and renews its row every few seconds: one row, however many accounts it has. While the database
 * is away, `ownsUntil` ends the ownership. A stop removes the row; release the accounts before.
 */
export function createHeartbeat(options: HeartbeatOptions) {
  const { db, processId, identity, clock, log } = options;
  let trustedUntil = -Infinity;
  const databaseClock = new RemoteClock();
  let startedAt: Date | undefined;
  let hasOthers = false;
  let interruptedAt = -Infinity;

  const beat = async (): Promise<void> => {
    const begin = clock.monotonic();
    const now = await databaseTime(db);
    const answered = clock.monotonic();
    const steppedBy = databaseClock.stepAt(now.getTime(), begin, answered);
    databaseClock.observe(now.getTime(), begin, answered);
    if (steppedBy !== 0) options.onClockStep?.(steppedBy);
    startedAt ??= now;
    // Also restores a removed row: the process was considered dead, and its accounts have new owners.
    const others = await db.sql<{ live: boolean }>`
      insert into ${db.stateTable('process')}
        (process_id, command, version, host, machine, pid, started_ticks, started_at, alive_until)
      values (${processId}, ${options.command}, ${options.version}, ${identity.host}, ${identity.machine}, ${identity.pid},
        ${identity.startedTicks}, ${startedAt}, ${new Date(now.getTime() + HEARTBEAT.validFor)})
      on conflict (process_id) do update set alive_until = excluded.alive_until
      returning exists (select 1 from ${db.stateTable('process')} as other where other.serves is not null
        and other.process_id <> ${processId} and not ${hasCome(sql`other.alive_until`, AHEAD_MS.aliveUntil)}) as live`;
    hasOthers = others.rows[0]?.live === true;
    if (begin > trustedUntil && trustedUntil > -Infinity) interruptedAt = clock.monotonic();
    trustedUntil = begin + HEARTBEAT.trustedFor;
  };

  const running = service('heartbeat', async ({ signal, ready }) => {
    await beat();
    await db.sql`
      delete from ${db.stateTable('process')} where alive_until < clock_timestamp() - ${`${REMEMBERED} ms`}::interval`;
    ready();
    let failing = false;
    let failedAt = 0;
    try {
      for (;;) {
        await clock.sleep(failing ? TRY_AGAIN : HEARTBEAT.beatEvery, signal);
        try {
          await beat();
          if (failing) {
            interruptedAt = clock.monotonic();
            log.info(`the database answers again, after ${formatSpan(interruptedAt - failedAt)}`);
          }
          failing = false;
          options.onBeat?.();
        } catch (error) {
          options.onBeat?.(error);
          interruptedAt = clock.monotonic();
          if (!failing) {
            failedAt = interruptedAt;
            log.warn(
              `${messageOf(error)}. Mirroring waits and continues by itself; nothing is lost. Check that the PostgreSQL server runs: "research-mirror doctor" says what is wrong`,
            );
          }
          failing = true;
        }
        if (failing) continue;
        await options.afterBeat?.().catch((error: unknown) => log.warn(messageOf(error)));
      }
    } finally {
      trustedUntil = -Infinity;
      // If the database is away, the row expires.
      await db.sql`delete from ${db.stateTable('process')} where process_id = ${processId}`.catch(() => {});
    }
  });
  return {
    ...running,
    processId,
    /** Monotonic time at which this process stops working on its accounts. −Infinity before the first heartbeat. */
    ownsUntil: () => trustedUntil,
    /** The database's time, ms since 1970, at most a round trip late and never early. At first this machine's time. */
    databaseNow: () => databaseClock.at(clock.monotonic()) ?? clock.now(),
    /**
     * Monotonic time of the last gap, without the database or asleep: others may have had it, too, so a process whose
     * heartbeat ran out then may live. −Infinity: none since the first heartbeat.
     */
    interruptedAt: () => (clock.monotonic() > trustedUntil ? clock.monotonic() : interruptedAt),
    /** Whether other daemons of the fleet live, as of the last heartbeat. */
    hasOthers: () => hasOthers,
  };
}

/** Identifies a process among all that had its ID on the machine. */
export interface ProcessIdentity {
  /** Host name, for users. */
  readonly host: string;
  /** Boot and PID namespace, within which a process ID is unique at a time; '' if the system has none (macOS). */
  readonly machine: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot; '' if unknown. */
  readonly startedTicks: string;
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  const host = hostname();
  try {
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const namespace = await readlink('/proc/self/ns/pid');
    const stat = parseStat(await readFile('/proc/self/stat', 'utf8'));
    return { host, machine: `${boot} ${namespace}`, pid: process.pid, startedTicks: stat.startedTicks };
  } catch {
    return { host, machine: '', pid: process.pid, startedTicks: '' };
  }
}

/** Whether `other` has certainly ended on this machine: its heartbeat need not expire. */
export async function isDeadHere(self: ProcessIdentity, other: Omit<ProcessIdentity, 'host'>) {
  if (self.machine === '' || self.machine !== other.machine) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
  }
  // The ID may be a later process's, or a zombie's.
  const text = await readFile(`/proc/${other.pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  const stat = parseStat(text);
  return stat.startedTicks !== other.startedTicks || stat.state === 'Z' || stat.state === 'X';
}

/** Fields 3 and 22 of proc_pid_stat(5); field 2, the name in brackets, may contain anything. */
export function parseStat(text: string): { readonly state: string; readonly startedTicks: string } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedTicks: fields[19] ?? '' };
}
