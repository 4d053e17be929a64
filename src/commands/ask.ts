import { randomUUID } from 'node:crypto';
import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError, DatabaseUnavailable, type Remedy } from '@research-mirror/runtime/errors';
import { databaseTime, type Db } from '../db/connection/db.ts';
import { wake } from '../db/notify/wakeups.ts';

/** How soon (ms) the asker looks first, and how often in the end: a small command is over in a moment. */
const FIRST_LOOK_MS = 50;
const LOOK_MS = 250;
/** How often (ms) it says that it still waits; how long after the last time it counts as gone. */
const BEAT_MS = 1_000;
const VALID_MS = 10_000;
const TAKEN_FOR_GONE = `the daemon took the request for withdrawn: nothing was heard of this process for ${VALID_MS / 1000} s; try again`;

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
 *     queued → running → done | failed;  queued or running → cancelled (by its asker, or since nothing is heard of it);
 *     running → queued (handed on)
 *
 * @param all arguments of each, JSON
 * @returns their results, in the same order
 * @throws CommandFailed, the first one's: the others are withdrawn; the signal's reason; DatabaseUnavailable
 */
export async function ask(db: Db, all: readonly unknown[], asking: Asking): Promise<unknown[]> {
  const { kind, to, onLeft, onProgress, lives, clock, signal } = asking;
  const commands = all.map((each): { id: string; given: string } => {
    return { id: randomUUID(), given: JSON.stringify(each) };
  });
  const results = new Map<string, unknown>();
  /** Those that are not done, with their process and the progress that was shown. */
  const open = new Map(commands.map(({ id }) => [id, { owner: to, isQueued: true, shown: 'null' }]));
  const update = (set: object) =>
    db.state
      .updateTable('command')
      .set(set)
      .where('command_id', 'in', [...open.keys()]);
  const now = await databaseTime(db);
  const validFrom = (moment: Date): Date => new Date(moment.getTime() + VALID_MS);

  let beatAt = clock.monotonic();
  const look = async (): Promise<void> => {
    const gone = new Set<string>();
    if (clock.monotonic() - beatAt >= BEAT_MS) {
      await update({ wanted_until: validFrom(await databaseTime(db)) }).execute();
      beatAt = clock.monotonic();
      const owners = new Set(Array.from(open.values(), ({ owner }) => owner));
      for (const owner of owners) if (!(await lives(owner))) gone.add(owner);
      // Of what was handed on, the ring may be lost.
      if ([...open.values()].some(({ owner, isQueued }) => isQueued && owner !== to)) await wake(db);
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
      open.set(id, { owner: owner ?? to, isQueued: state === 'queued', shown });
      if (state === 'failed' || state === 'cancelled') {
        const { remedy = 'retry' } = (result ?? {}) as { readonly remedy?: Remedy };
        throw new CommandFailed(error ?? TAKEN_FOR_GONE, remedy);
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
    const row = { kind, owner: to, created_at: now, wanted_until: validFrom(now) };
    await db.state
      .insertInto('command')
      .values(commands.map(({ id, given }) => ({ ...row, command_id: id, arguments: given })))
      .execute();
    onLeft();
    let lookedAt = clock.monotonic();
    for (let waitMs = FIRST_LOOK_MS; open.size > 0; waitMs = Math.min(LOOK_MS, waitMs * 1.5)) {
      await clock.sleep(waitMs, signal);
      try {
        await look();
        lookedAt = clock.monotonic();
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || clock.monotonic() - lookedAt > VALID_MS) throw error;
      }
    }
    return commands.map(({ id }) => results.get(id));
  } finally {
    // Where the database is away: they count as withdrawn as soon as nothing is heard of the asker.
    const unfinished = (): Promise<unknown> =>
      update({ state: 'cancelled' }).where('state', 'in', ['queued', 'running']).execute();
    if (open.size > 0) await unfinished().catch(() => {});
  }
}
