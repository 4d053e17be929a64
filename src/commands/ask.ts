import { randomUUID } from 'node:crypto';
import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError, DatabaseUnavailable, type Remedy } from '@research-mirror/runtime/errors';
import type { Db } from '../db/connection/db.ts';
import { databaseTime } from '../db/connection/database-time.ts';

/** How often (ms) the asker looks, and says that it still waits; how long after the last time it counts as gone. */
const LOOK_MS = 250;
const BEAT_MS = 1_000;
const VALID_MS = 10_000;

/** Why a command was not done. */
export class CommandFailed extends ClassifiedError {
  readonly remedy: Remedy;
  constructor(message: string, remedy: Remedy) {
    super(message);
    this.remedy = remedy;
  }
}

/** How commands are left. */
export interface Asking {
  readonly kind: string;
  /** The process that carries them out, or hands them on to another one. */
  readonly to: string;
  /** Called when they are there to be taken. */
  readonly onLeft: () => void;
  readonly onProgress: (progress: unknown) => void;
  /** Whether a process lives that has one of them. */
  readonly lives: (processId: string) => Promise<boolean>;
  readonly clock: Clock;
  /** An abort withdraws them. */
  readonly signal: AbortSignal;
}

/**
 * Leaves commands in Postgres and waits until they are carried out: rows of `<schema>_sync.command`, each with the
 * process that is to do it.
 *
 *     queued → running → done | failed;  queued or running → cancelled (by the asker);  running → queued (handed on)
 *
 * @param all arguments of each, JSON
 * @returns their results, in the same order
 * @throws CommandFailed, the first one's: the others are withdrawn; the signal's reason; DatabaseUnavailable
 */
export async function ask(db: Db, all: readonly unknown[], asking: Asking): Promise<unknown[]> {
  const { kind, to, onLeft, onProgress, lives, clock, signal } = asking;
  const results = new Map<string, unknown>(all.map(() => [randomUUID(), undefined]));
  /** Those that are not done, with their process and the progress that was shown. */
  const open = new Map([...results.keys()].map((id) => [id, { owner: to, shown: 'null' }]));
  const withdraw = (): Promise<unknown> =>
    updateOpen({ state: 'cancelled' }).where('state', 'in', ['queued', 'running']).execute();
  const updateOpen = (set: { readonly state: string } | { readonly wanted_until: Date }) =>
    db.state
      .updateTable('command')
      .set(set)
      .where('command_id', 'in', [...open.keys()]);
  const validUntil = async (): Promise<Date> => new Date((await databaseTime(db)).getTime() + VALID_MS);

  let beatAt = clock.monotonic();
  const look = async (): Promise<void> => {
    const gone = new Set<string>();
    if (clock.monotonic() - beatAt >= BEAT_MS) {
      await updateOpen({ wanted_until: await validUntil() }).execute();
      beatAt = clock.monotonic();
      for (const owner of new Set([...open.values()].map((each) => each.owner))) {
        if (!(await lives(owner))) gone.add(owner);
      }
    }
    // Read after `lives`: a process that has ended may have left its answer.
    const rows = await db.state
      .selectFrom('command')
      .select(['command_id as id', 'owner', 'state', 'progress', 'result', 'error'])
      .where('command_id', 'in', [...open.keys()])
      .execute();
    if (rows.length < open.size) throw new CommandFailed('the request vanished from the database', 'stop');
    for (const { id, owner, state, progress, result, error } of rows) {
      const shown = JSON.stringify(progress);
      if (shown !== open.get(id)?.shown) onProgress(progress);
      open.set(id, { owner: owner ?? to, shown });
      if (state === 'failed') {
        const remedy = (result as { remedy?: Remedy } | null)?.remedy ?? 'stop';
        throw new CommandFailed(error ?? 'the daemon failed at it', remedy);
      }
      if (state === 'cancelled') {
        const silent = `nothing was heard of this process for ${VALID_MS / 1000} s`;
        throw new CommandFailed(`the daemon took the request for withdrawn: ${silent}; try again`, 'retry');
      }
      if (state === 'done') {
        results.set(id, result);
        open.delete(id);
      } else if (owner !== null && gone.has(owner)) {
        const what = 'the daemon that worked on it has ended; what it wrote is kept: try again';
        throw new CommandFailed(what, 'retry');
      }
    }
  };

  try {
    const created_at = await databaseTime(db);
    const given = all.map((each) => JSON.stringify(each));
    const wanted_until = await validUntil();
    await db.state
      .insertInto('command')
      .values(
        [...open.keys()].map((command_id, at) => ({
          command_id,
          kind,
          owner: to,
          arguments: given[at] ?? 'null',
          created_at,
          wanted_until,
        })),
      )
      .execute();
    onLeft();
    let lookedAt = clock.monotonic();
    while (open.size > 0) {
      await clock.sleep(LOOK_MS, signal);
      try {
        await look();
        lookedAt = clock.monotonic();
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || clock.monotonic() - lookedAt > VALID_MS) throw error;
      }
    }
    return [...results.values()];
  } finally {
    // Where the database is away: they count as withdrawn as soon as nothing is heard of the asker.
    if (open.size > 0) await withdraw().catch(() => {});
  }
}
