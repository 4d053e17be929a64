import { randomUUID } from 'node:crypto';
import { ClassifiedError, DatabaseUnavailable, type Remedy } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped, type Service, service, Stopped } from '@research-mirror/runtime/service';
import { jsonbText } from '../model/values.ts';
import { databaseTime, type Db } from '../postgres/db.ts';
import { wake } from '../postgres/notifications.ts';
import { sqlState } from '../postgres/sql-state.ts';

/** First and longest interval at which the asker looks for results, ms. */
const FIRST_LOOK_MS = 50;
const ASK_MS = 250;
/** Interval at which it says that it still waits, and the time after which it counts as gone, ms. */
const BEAT_MS = 1_000;
const VALID_MS = 10_000;
const GONE = 'the daemon stopped before it finished the command; what it wrote is kept. Try again';
const TAKEN_FOR_GONE = `the daemon cancelled the command: it heard nothing from this process for ${VALID_MS / 1000} s. Try again`;

export class CommandFailed extends ClassifiedError {
  readonly remedy: Remedy;
  constructor(message: string, remedy: Remedy) {
    super(message);
    this.remedy = remedy;
  }
}

/**
 * Leaves commands in Postgres, as rows of `<schema>_sync.command`, and waits until they are carried out. States:
 * queued, running, then done or failed; cancelled by the asker, or because that counts as gone.
 * @param all arguments of each command, JSON
 * @returns their results, in the same order
 * @throws CommandFailed of the first failure: the others are withdrawn; the signal's reason; DatabaseUnavailable
 */
export async function ask(
  db: Db,
  all: readonly unknown[],
  options: {
    readonly kind: string;
    /** The process that carries them out. */
    readonly to: string;
    readonly onProgress: (progress: unknown) => void;
    readonly lives: () => Promise<boolean>;
    readonly clock: Clock;
    /** An abort withdraws them. */
    readonly signal: AbortSignal;
  },
): Promise<unknown[]> {
  const { kind, to, onProgress, lives, clock, signal } = options;
  const commands = all.map((each) => ({ id: randomUUID(), given: JSON.stringify(each) }));
  const results = new Map<string, unknown>();
  /** Unfinished commands, with the progress that was shown. */
  const open = new Map(commands.map(({ id }) => [id as string, { isQueued: true, shown: 'null' }]));
  const update = (set: object) =>
    db.state
      .updateTable('command')
      .set(set)
      .where('command_id', 'in', [...open.keys()]);
  const now = await databaseTime(db);
  const validFrom = (moment: Date): Date => new Date(moment.getTime() + VALID_MS);

  let beatAt = clock.monotonic();
  const look = async (): Promise<void> => {
    let isGone = false;
    if (clock.monotonic() - beatAt >= BEAT_MS) {
      await update({ wanted_until: validFrom(await databaseTime(db)) }).execute();
      beatAt = clock.monotonic();
      isGone = !(await lives());
      // The first ring may be lost.
      if ([...open.values()].some(({ isQueued }) => isQueued)) await wake(db);
    }
    // Read after `lives`: a process that has ended may have left its answer.
    const rows = await db.state
      .selectFrom('command')
      .select(['command_id as id', 'state', 'progress', 'result', 'error'])
      .where('command_id', 'in', [...open.keys()])
      .execute();
    if (rows.length < open.size) throw new CommandFailed('the command is gone from the database', 'stop');
    for (const { id, state, progress, result, error } of rows) {
      const shown = JSON.stringify(progress);
      if (shown !== open.get(id)?.shown) onProgress(progress);
      open.set(id, { isQueued: state === 'queued', shown });
      if (state === 'failed' || state === 'cancelled') {
        const { remedy = 'retry' } = (result ?? {}) as { readonly remedy?: Remedy };
        throw new CommandFailed(error ?? TAKEN_FOR_GONE, remedy);
      }
      if (state === 'done') {
        results.set(id, result);
        open.delete(id);
      } else if (isGone) throw new CommandFailed(GONE, 'retry');
    }
  };

  try {
    const row = { kind, owner: to, created_at: now, wanted_until: validFrom(now) };
    await db.state
      .insertInto('command')
      .values(commands.map(({ id, given }) => ({ ...row, command_id: id, arguments: given })))
      .execute();
    await wake(db);
    let lookedAt = clock.monotonic();
    for (let waitMs = FIRST_LOOK_MS; open.size > 0; waitMs = Math.min(ASK_MS, waitMs * 1.5)) {
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
    // If the database is away, they count as withdrawn as soon as the asker counts as gone.
    if (open.size > 0) {
      const withdrawal = update({ state: 'cancelled' }).where('state', 'in', ['queued', 'running']);
      await withdrawal.execute().catch(() => {});
    }
  }
}

/** Carries out one kind of command. @param report shows progress to the asker @returns the result, JSON */
export type CommandHandler = (
  given: unknown,
  context: { readonly signal: AbortSignal; readonly report: (progress: unknown) => void },
) => Promise<unknown>;

/** Interval of writing progress, of looking whether askers still wait, and of retries, ms. */
const LOOK_MS = 500;
/** Time for which rows of old commands are kept for users, ms. */
const KEEP_MS = 3_600_000;

interface Task {
  readonly withdrawn: AbortController;
  progress?: string;
  written?: string;
  ended: Promise<void>;
  /** Carried out, but the answer can't be stored: not done again. */
  unanswered?: boolean;
}

/** Looks for commands that askers left for this process, and carries them out concurrently. */
export function commandService(options: {
  readonly db: Db;
  readonly processId: string;
  readonly handlers: Readonly<Record<string, CommandHandler>>;
  /** Rings if an asker may have left a command. */
  readonly bell: Doorbell;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}): Service {
  const { db, processId, handlers, bell, clock, onFailure } = options;
  const tasks = new Map<string, Task>();
  const update = (id: string, set: object) => db.state.updateTable('command').set(set).where('command_id', '=', id);

  /** Writes an answer, repeatedly while the database is away or read-only, since the asker waits for it. */
  const answer = async (id: string, { progress }: Task, set: object, stop: AbortSignal): Promise<void> => {
    for (let answered: object = { ...set, ...(progress !== undefined && { progress }) }; ;) {
      try {
        const done_at = await databaseTime(db);
        await update(id, { done_at, ...answered })
          .where('state', '=', 'running')
          .execute();
        return;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || stop.aborted) throw error;
        onFailure(error);
        // A full disk may have room for a row with only the failure.
        if (sqlState(error) === '53100') answered = { ...failureOf(error), progress: null };
        await clock.sleep(LOOK_MS, stop).catch(() => {});
      }
    }
  };

  const carryOut = async (id: string, task: Task, kind: string, given: unknown, stop: AbortSignal) => {
    try {
      const handler = handlers[kind];
      if (handler === undefined) throw new Error(`the running daemon does not know the command ${kind}`);
      const signal = AbortSignal.any([stop, task.withdrawn.signal]);
      const report = (progress: unknown): void => void (task.progress = storable(progress));
      const result = storable(await handler(given, { signal, report }));
      await answer(id, task, { state: 'done', result }, stop);
    } catch (error) {
      const outcome = task.withdrawn.signal.aborted ? { state: 'cancelled' } : failureOf(error);
      await answer(id, task, outcome, stop);
    }
  };

  /**
   * Takes new commands whose askers still wait, by compare-and-set, and begins each at once. A command whose taking got
   * no answer from the database is taken again. Ends commands whose askers are gone, and writes progress.
   */
  const look = async (stop: AbortSignal): Promise<void> => {
    const open = await db.state
      .selectFrom('command')
      .select(['command_id as id', 'wanted_until', 'kind', 'arguments as given'])
      .where('state', 'in', ['queued', 'running'])
      .where('owner', '=', processId)
      .orderBy('created_at')
      .execute();
    if (open.length + tasks.size === 0) return;
    const now = await databaseTime(db);
    const wanted = new Map(open.flatMap((row) => (row.wanted_until > now ? [[row.id, row]] : [])));
    for (const [id, task] of tasks) {
      if (wanted.has(id)) continue;
      task.withdrawn.abort(new Stopped('the withdrawn command'));
      if (task.unanswered === true) tasks.delete(id);
    }
    for (const { id } of open) {
      if (wanted.has(id) || tasks.has(id)) continue;
      // There is no second ring for it: an asker that is only late hears that it was not done.
      const unwanted = update(id, { state: 'cancelled' }).where('owner', '=', processId);
      const ended = await unwanted
        .where('state', 'in', ['queued', 'running'])
        .where('wanted_until', '<=', now)
        .executeTakeFirst();
      if (ended.numUpdatedRows === 0n) bell.ring();
    }
    let begun = false;
    for (const [id, { kind, given }] of wanted) {
      if (tasks.has(id)) continue;
      const taking = update(id, { state: 'running' }).where('owner', '=', processId);
      const taken = await taking.where('state', 'in', ['queued', 'running']).executeTakeFirst();
      if (taken.numUpdatedRows === 0n) continue;
      begun = true;
      const task: Task = { withdrawn: new AbortController(), ended: Promise.resolve() };
      tasks.set(id, task);
      task.ended = carryOut(id, task, kind, given, stop).then(
        () => void tasks.delete(id),
        (error: unknown) => {
          task.unanswered = true;
          onFailure(error);
        },
      );
    }
    for (const [id, task] of tasks) {
      const { progress } = task;
      if (progress === undefined || progress === task.written) continue;
      await update(id, { progress }).where('state', '=', 'running').execute();
      task.written = progress;
    }
    const old = new Date(now.getTime() - KEEP_MS);
    if (begun) await db.state.deleteFrom('command').where('wanted_until', '<', old).execute();
  };

  return service('commands', async ({ signal, ready }) => {
    ready();
    try {
      for (;;) {
        let waitMs = LOOK_MS;
        try {
          await look(signal);
          // An asker that has left a command has rung already.
          if (tasks.size === 0) waitMs = Number.POSITIVE_INFINITY;
        } catch (error) {
          signal.throwIfAborted();
          onFailure(error);
        }
        await bell.heardWithin(waitMs, clock, signal);
      }
    } finally {
      await Promise.all(Array.from(tasks.values(), ({ ended }) => ended));
    }
  });
}

function failureOf(error: unknown): object {
  const remedy = error instanceof ClassifiedError ? error.remedy : 'stop';
  const message = isStopped(error) ? 'the daemon was stopped' : messageOf(error);
  return { state: 'failed', result: storable({ remedy }), error: message };
}

function storable(value: unknown): string {
  return jsonbText(JSON.stringify(value ?? null)).raw;
}
