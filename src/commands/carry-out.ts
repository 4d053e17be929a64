import { ClassifiedError, DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped, type Service, service, Stopped } from '@research-mirror/runtime/service';
import type { Db } from '../db/connection/db.ts';
import { databaseTime } from '../db/connection/database-time.ts';
import { wake } from '../db/notify/wakeups.ts';
import { jsonbText } from '../model/json/jsonb-text.ts';

/**
 * Carries out one kind of command.
 * @param report takes the progress for the asker; written at most each half second
 * @returns the result, JSON
 * @throws HandedOn
 */
export type CommandHandler = (
  given: unknown,
  context: { readonly signal: AbortSignal; readonly report: (progress: unknown) => void },
) => Promise<unknown>;

/** The command is another process's to carry out. */
export class HandedOn extends Error {
  readonly to: string;
  constructor(to: string) {
    super(`handed on to ${to}`);
    this.to = to;
  }
}

export interface CommandServiceOptions {
  readonly db: Db;
  readonly processId: string;
  readonly handlers: Readonly<Record<string, CommandHandler>>;
  /** Rung when an asker may have left a command. */
  readonly bell: Doorbell;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

/**
 * How often (ms) progress is written, and it looks whether askers still wait; and how soon it tries again what the
 * database did not do.
 */
const LOOK_MS = 500;
/** For how long (ms) rows of commands are kept that nobody waits for: somebody may look into what happened. */
const KEEP_MS = 3_600_000;

/** A command that is being carried out. */
interface Task {
  readonly withdrawn: AbortController;
  progress?: string;
  written?: string;
  ended: Promise<void>;
}

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly given: unknown;
}

/** Looks for commands that askers left for this process, and carries them out side by side. */
export function commandService(options: CommandServiceOptions): Service {
  const { db, processId, handlers, bell, clock, onFailure } = options;
  const tables = db.state;
  const running = new Map<string, Task>();
  /** Carried out, and the answer can't be stored at all: they are not done a second time. */
  const unanswered = new Set<string>();

  /** The asker waits for it: while the database is away or read-only it is written again and again. */
  const answer = async (id: string, set: () => Promise<object>, stop: AbortSignal): Promise<void> => {
    for (;;) {
      try {
        await tables
          .updateTable('command')
          .set(await set())
          .where('command_id', '=', id)
          .where('state', '=', 'running')
          .execute();
        return;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || stop.aborted) throw error;
        onFailure(error);
        await clock.sleep(LOOK_MS, stop).catch(() => {});
      }
    }
  };

  const carryOut = async ({ id, kind, given }: Row, task: Task, stop: AbortSignal): Promise<void> => {
    const signal = AbortSignal.any([stop, task.withdrawn.signal]);
    const end = async (state: string, result: unknown, error: string | null): Promise<void> => {
      const ended = { state, result: storable(result), error };
      const progress = task.progress === undefined ? {} : { progress: task.progress };
      await answer(id, async () => ({ ...ended, ...progress, done_at: await databaseTime(db) }), stop);
    };
    try {
      const handler = handlers[kind];
      if (handler === undefined) throw new Error(`the running daemon does not know the command ${kind}`);
      const report = (progress: unknown): void => {
        task.progress = storable(progress);
      };
      await end('done', await handler(given, { signal, report }), null);
    } catch (error) {
      if (error instanceof HandedOn) {
        await answer(id, () => Promise.resolve({ state: 'queued', owner: error.to }), stop);
        await wake(db);
        return;
      }
      const remedy = error instanceof ClassifiedError ? error.remedy : 'stop';
      await end('failed', { remedy }, isStopped(error) ? 'the daemon was stopped' : messageOf(error));
    }
  };

  const begin = (row: Row, stop: AbortSignal): void => {
    const task: Task = { withdrawn: new AbortController(), ended: Promise.resolve() };
    running.set(row.id, task);
    task.ended = carryOut(row, task, stop)
      .catch((error: unknown) => {
        unanswered.add(row.id);
        onFailure(error);
      })
      .finally(() => running.delete(row.id));
  };

  /** Ends what its asker waits for no more, and writes progress. */
  const follow = async (): Promise<void> => {
    if (running.size === 0) return;
    const tasks = [...running];
    const wanted = await tables
      .selectFrom('command')
      .select('command_id')
      .where(
        'command_id',
        'in',
        tasks.map(([id]) => id),
      )
      .where('state', '=', 'running')
      .where('wanted_until', '>', await databaseTime(db))
      .execute();
    const isWanted = new Set(wanted.map((row) => row.command_id));
    for (const [id, { withdrawn }] of tasks) {
      if (!isWanted.has(id)) withdrawn.abort(new Stopped('the command, by its asker,'));
    }
    for (const [id, task] of tasks) {
      const { progress } = task;
      if (progress === undefined || progress === task.written) continue;
      await tables
        .updateTable('command')
        .set({ progress })
        .where('command_id', '=', id)
        .where('state', '=', 'running')
        .execute();
      task.written = progress;
    }
  };

  /**
   * Takes the commands for this process whose askers still wait: read first, then each taken by compare-and-set, and
   * begun at once, whatever fails after it. One that counts as taken and is not carried out, since the database's
   * answer was lost, is taken again.
   */
  const take = async (stop: AbortSignal): Promise<void> => {
    const open = await tables
      .selectFrom('command')
      .select(['command_id', 'wanted_until'])
      .where('state', 'in', ['queued', 'running'])
      .where('owner', '=', processId)
      .orderBy('created_at')
      .execute();
    const waiting = open.filter(({ command_id: id }) => !running.has(id) && !unanswered.has(id));
    if (waiting.length === 0) return;
    const now = await databaseTime(db);
    for (const { command_id: id, wanted_until: until } of waiting) {
      const row = await tables
        .updateTable('command')
        .set({ state: until > now ? 'running' : 'cancelled' })
        .where('command_id', '=', id)
        .where('owner', '=', processId)
        .where('state', 'in', ['queued', 'running'])
        .returning(['command_id as id', 'kind', 'arguments as given', 'state'])
        .executeTakeFirst();
      if (row?.state === 'running') begin(row, stop);
    }
    await tables
      .deleteFrom('command')
      .where('wanted_until', '<', new Date(now.getTime() - KEEP_MS))
      .execute();
  };

  return service('commands', async ({ signal, ready }) => {
    ready();
    try {
      for (;;) {
        const over = new AbortController();
        let failed = false;
        try {
          await follow();
          await take(signal);
        } catch (error) {
          signal.throwIfAborted();
          failed = true;
          onFailure(error);
        }
        // Who left a command has rung already.
        if (failed || running.size > 0) {
          clock.sleep(LOOK_MS, over.signal).then(
            () => bell.ring(),
            () => {}, // it was rung before
          );
        }
        await bell.heard(signal).finally(() => over.abort());
      }
    } finally {
      await Promise.all([...running.values()].map(({ ended }) => ended));
    }
  });
}

/** JSON text that jsonb takes. */
function storable(value: unknown): string {
  return jsonbText(JSON.stringify(value ?? null)).raw;
}
