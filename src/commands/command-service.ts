import { ClassifiedError, DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped, type Service, service, Stopped } from '@research-mirror/runtime/service';
import type { Db } from '../db/connection/db.ts';
import { databaseTime } from '../db/connection/database-time.ts';

/**
 * Carries out one kind of command.
 * @param report takes the progress for the asker; written at most each half second
 * @returns the result, JSON
 */
export type CommandHandler = (
  given: unknown,
  context: { readonly signal: AbortSignal; readonly report: (progress: unknown) => void },
) => Promise<unknown>;

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
 * How often (ms) the daemon writes progress, and looks whether the asker still waits; and how soon it tries again what
 * the database did not do.
 */
const LOOK_MS = 500;
/** For how long (ms) rows of commands are kept that nobody waits for: somebody may look into what happened. */
const KEEP_MS = 3_600_000;

/** Looks for commands that askers left, and carries them out side by side. */
export function commandService(options: CommandServiceOptions): Service {
  const { db, handlers, bell, clock } = options;
  const tables = db.state;

  const carryOut = async (id: string, kind: string, given: unknown, stop: AbortSignal): Promise<void> => {
    const withdrawn = new AbortController();
    const over = new AbortController();
    const signal = AbortSignal.any([stop, withdrawn.signal]);
    let progress: unknown;
    /** Writes progress, and looks whether the asker still waits, until the command is over. */
    const watch = async (): Promise<void> => {
      let written: unknown;
      for (;;) {
        await clock.sleep(LOOK_MS, over.signal);
        const next = progress;
        try {
          const row = await tables
            .updateTable('command')
            .set(next === written ? { owner: options.processId } : { progress: JSON.stringify(next) })
            .where('command_id', '=', id)
            .where('state', '=', 'running')
            .where('wanted_until', '>', await databaseTime(db))
            .returning('command_id')
            .executeTakeFirst();
          written = next;
          if (row === undefined) withdrawn.abort(new Stopped('the command, by its asker,'));
        } catch (error) {
          // The database may be away for a while: the next look hears whether the asker has gone.
          options.onFailure(error);
        }
      }
    };
    const watching = watch().catch(() => {}); // it ends when the command is over
    const write = async (state: string, result: unknown, error: string | null): Promise<void> => {
      await tables
        .updateTable('command')
        .set({
          state,
          result: JSON.stringify(result ?? null),
          error,
          done_at: await databaseTime(db),
          ...(progress === undefined ? {} : { progress: JSON.stringify(progress) }),
        })
        .where('command_id', '=', id)
        .where('state', '=', 'running')
        .execute();
    };
    /** The asker waits for it: while the database is away or read-only it is written again and again. */
    const finish = async (...answer: Parameters<typeof write>): Promise<void> => {
      over.abort(new Stopped('the watch'));
      await watching;
      for (;;) {
        try {
          return await write(...answer);
        } catch (error) {
          if (!(error instanceof DatabaseUnavailable) || stop.aborted) throw error;
          options.onFailure(error);
          await clock.sleep(LOOK_MS, stop).catch(() => {});
        }
      }
    };
    try {
      const handler = handlers[kind];
      if (handler === undefined) throw new Error(`the running daemon does not know the command ${kind}`);
      const report = (next: unknown): void => {
        progress = next;
      };
      await finish('done', await handler(given, { signal, report }), null);
    } catch (error) {
      const remedy = error instanceof ClassifiedError ? error.remedy : 'stop';
      await finish('failed', { remedy }, isStopped(error) ? 'the daemon was stopped' : messageOf(error));
    } finally {
      over.abort(new Stopped('the watch'));
    }
  };

  return service('commands', async ({ signal, ready }) => {
    const running = new Map<string, Promise<void>>();
    ready();
    try {
      for (;;) {
        try {
          for await (const row of claim(options, running)) {
            // One whose answer can't be stored at all stays in it: it is not done a second time.
            const task = carryOut(row.command_id, row.kind, row.arguments, signal).then(
              () => void running.delete(row.command_id),
              options.onFailure,
            );
            running.set(row.command_id, task);
          }
          await bell.heard(signal);
        } catch (error) {
          signal.throwIfAborted();
          // Who left a command has rung already.
          options.onFailure(error);
          await clock.sleep(LOOK_MS, signal);
        }
      }
    } finally {
      await Promise.all(running.values());
    }
  });
}

/**
 * Takes the commands for this process whose askers still wait: read first, then each taken by compare-and-set. One that
 * counts as taken and is not carried out, since the database's answer was lost, is taken again. They are yielded one by
 * one, so that each one taken is begun, whatever fails after it.
 */
async function* claim(
  { db, processId }: CommandServiceOptions,
  running: ReadonlyMap<string, unknown>,
): AsyncGenerator<{ command_id: string; kind: string; arguments: unknown }> {
  const tables = db.state;
  const open = await tables
    .selectFrom('command')
    .select(['command_id', 'wanted_until'])
    .where('state', 'in', ['queued', 'running'])
    .where('owner', '=', processId)
    .orderBy('created_at')
    .execute();
  const waiting = open.filter(({ command_id: id }) => !running.has(id));
  if (waiting.length === 0) return;
  const now = await databaseTime(db);
  for (const { command_id: id, wanted_until: until } of waiting) {
    const row = await tables
      .updateTable('command')
      .set({ state: until > now ? 'running' : 'cancelled' })
      .where('command_id', '=', id)
      .where('state', 'in', ['queued', 'running'])
      .returning(['command_id', 'kind', 'arguments', 'state'])
      .executeTakeFirst();
    if (row?.state === 'running') yield row;
  }
  await tables
    .deleteFrom('command')
    .where('wanted_until', '<', new Date(now.getTime() - KEEP_MS))
    .execute();
}
