import { randomUUID } from 'node:crypto';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Db } from '../db/connection/db.ts';
import { databaseTime } from '../db/connection/database-time.ts';
import { wake } from '../db/notify/wakeups.ts';
import { type Remedy, ClassifiedError } from '@research-mirror/runtime/errors';

/**
 * A request that a command leaves in Postgres for the running daemon, which carries it out under its lease and its
 * budget: a row of `<schema>_sync.command`.
 *
 *     queued → running → done | failed;  queued or running → cancelled (by the asker)
 */
interface CommandRequest {
  readonly kind: string;
  /** JSON. */
  readonly arguments: unknown;
  /** Process ID of the daemon that is to carry it out: of several, only the account's owner can. */
  readonly to: string;
}

/** How often (ms) the asker says that it still waits, and how long after the last time it counts as gone. */
const CLIENT_BEAT_MS = 1_000;
const CLIENT_VALID_MS = 10_000;

/** Why the daemon did not do a command. */
export class CommandFailed extends ClassifiedError {
  readonly remedy: Remedy;
  constructor(message: string, remedy: Remedy) {
    super(message);
    this.remedy = remedy;
  }
}

/** How often (ms) the asker reads the progress. */
const LOOK_MS = 250;

export interface Asking {
  readonly clock: Clock;
  /** An abort withdraws the request. */
  readonly signal: AbortSignal;
  /** Called with each new progress that the daemon wrote. */
  readonly onProgress: (progress: unknown) => void;
  /** Whether the daemon that was asked still runs. */
  readonly lives: () => Promise<boolean>;
}

/**
 * Leaves the request for the daemon and waits for the result.
 * @throws CommandFailed with the daemon's message, or because it is gone; the signal's reason, the request withdrawn
 */
export async function askDaemon(
  db: Db,
  request: CommandRequest,
  { clock, signal, onProgress, lives }: Asking,
): Promise<unknown> {
  const tables = db.state;
  const id = randomUUID();
  const validUntil = async (): Promise<Date> =>
    new Date((await databaseTime(db)).getTime() + CLIENT_VALID_MS);
  await tables
    .insertInto('command')
    .values({
      command_id: id,
      kind: request.kind,
      owner: request.to,
      arguments: JSON.stringify(request.arguments),
      created_at: await databaseTime(db),
      wanted_until: await validUntil(),
    })
    .execute();
  await wake(db);
  let shown = 'null';
  let beatAt = clock.monotonic();
  let gone = false;
  try {
    for (;;) {
      await clock.sleep(LOOK_MS, signal);
      if (clock.monotonic() - beatAt >= CLIENT_BEAT_MS) {
        beatAt = clock.monotonic();
        await tables
          .updateTable('command')
          .set({ wanted_until: await validUntil() })
          .where('command_id', '=', id)
          .execute();
        gone = !(await lives());
      }
      // The row is read after `lives`: a daemon that has ended may have left its answer.
      const row = await tables
        .selectFrom('command')
        .select(['state', 'progress', 'result', 'error'])
        .where('command_id', '=', id)
        .executeTakeFirst();
      if (row === undefined) throw new CommandFailed('the request vanished from the database', 'stop');
      const progress = JSON.stringify(row.progress);
      if (progress !== shown) {
        shown = progress;
        onProgress(row.progress);
      }
      if (row.state === 'done') return row.result;
      if (row.state === 'failed') {
        const remedy = (row.result as { remedy?: Remedy } | null)?.remedy ?? 'stop';
        throw new CommandFailed(row.error ?? 'the daemon failed at it', remedy);
      }
      if (row.state === 'cancelled') {
        const silent = `nothing was heard of this process for ${CLIENT_VALID_MS / 1000} s`;
        throw new CommandFailed(`the daemon took the request for withdrawn: ${silent}; try again`, 'retry');
      }
      if (gone) {
        const what = 'the daemon that worked on it has ended; what it wrote is kept: try again';
        throw new CommandFailed(what, 'retry');
      }
    }
  } finally {
    if (signal.aborted) await cancel(db, id);
  }
}

async function cancel(db: Db, id: string): Promise<void> {
  await db.state
    .updateTable('command')
    .set({ state: 'cancelled' })
    .where('command_id', '=', id)
    .where('state', 'in', ['queued', 'running'])
    .execute();
}
