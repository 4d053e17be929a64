import { afterEach, describe, expect, it } from 'vitest';
import {
  ask as askAll,
  CommandFailed,
  commandService,
  type CommandHandler,
  HandedOn,
} from '../../../src/commands/commands.ts';
import { createWakeups, wake } from '../../../src/db/notify/wakeups.ts';
import { RequestRefused } from '../../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, startAll, stopAll, Stopped } from '@research-mirror/runtime/service';
import { testDatabase } from '../../support/databases/migrated-database.ts';

const database = testDatabase();

const running: Service[] = [];
afterEach(() => stopAll(running.splice(0)));

async function serve(handlers: Record<string, CommandHandler>, processId = 'daemon'): Promise<void> {
  const bell = new Doorbell();
  const { db, url } = database;
  const services = [
    createWakeups({
      connection: { url, program: 'test' },
      schema: db.schema,
      clock: systemClock,
      log: { info: () => {}, warn: () => {} },
      onWake: () => bell.ring(),
    }),
    commandService({
      db,
      processId,
      handlers,
      bell,
      clock: systemClock,
      onFailure: (error) => {
        throw error;
      },
    }),
  ];
  running.push(...services);
  await startAll(services);
}

async function ask(
  kind: string,
  given: unknown,
  more: {
    readonly signal?: AbortSignal;
    readonly onProgress?: (told: unknown) => void;
    readonly to?: string;
    readonly lives?: boolean;
  } = {},
): Promise<unknown> {
  const { signal = new AbortController().signal, onProgress = () => {}, to = 'daemon', lives = true } = more;
  const [result] = await askAll(database.db, [given], {
    kind,
    to,
    onLeft: () => void wake(database.db),
    onProgress,
    lives: () => Promise.resolve(lives),
    clock: systemClock,
    signal,
  });
  return result;
}

describe('a command left for the daemon', () => {
  it('is carried out, with progress, and answered', async () => {
    const heard = Promise.withResolvers<void>();
    await serve({
      add: async (given, { report }) => {
        report({ done: 1 });
        await heard.promise;
        const { a, b } = given as { a: number; b: number };
        return { sum: a + b };
      },
    });
    const progress: unknown[] = [];
    const onProgress = (told: unknown): void => {
      progress.push(told);
      heard.resolve();
    };
    await expect(ask('add', { a: 2, b: 3 }, { onProgress })).resolves.toEqual({ sum: 5 });
    expect(progress).toContainEqual({ done: 1 });
  });

  it('fails with the daemon’s message and remedy', async () => {
    await serve({ refuse: () => Promise.reject(new RequestRefused('no such list', 404)) });
    const failure = await ask('refuse', {}).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CommandFailed);
    expect(failure).toMatchObject({ message: 'no such list', remedy: 'skip' });
  });

  it('fails when the daemon does not know it', async () => {
    await serve({});
    await expect(ask('dance', {})).rejects.toThrow('does not know the command dance');
  });

  it('is withdrawn when the asker is interrupted: the daemon stops working on it', async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<string>();
    await serve({
      wait: async (_, { signal }) => {
        begun.resolve();
        await systemClock.sleep(60_000, signal).catch((error: Error) => {
          ended.resolve(error.message);
          throw error;
        });
      },
    });
    const interrupt = new AbortController();
    const asked = ask('wait', {}, { signal: interrupt.signal });
    await begun.promise;
    interrupt.abort(new Stopped('the command'));
    await expect(asked).rejects.toThrow('the command was stopped');
    await expect(ended.promise).resolves.toContain('by its asker');
  });

  it('is told when the daemon stops', async () => {
    const begun = Promise.withResolvers<void>();
    await serve({
      wait: (_, { signal }) => {
        begun.resolve();
        return systemClock.sleep(60_000, signal);
      },
    });
    const asked = ask('wait', {});
    await begun.promise;
    const told = asked.catch((error: unknown) => error);
    await stopAll(running.splice(0));
    expect(await told).toMatchObject({ message: 'the daemon was stopped' });
  });

  it('waits for the daemon that it was left for, and for no other', async () => {
    let begun = 0;
    await serve({
      add: () => {
        begun += 1;
        return Promise.resolve();
      },
    });
    await expect(ask('add', {}, { to: 'another daemon', lives: false })).rejects.toMatchObject({
      message: expect.stringContaining('the daemon that worked on it has ended') as string,
      remedy: 'retry',
    });
    expect(begun).toBe(0);
  });

  it('is handed on to the process that has the account, which answers', async () => {
    await serve({ whose: () => Promise.reject(new HandedOn('owner')) });
    await serve({ whose: () => Promise.resolve('mine') }, 'owner');
    await expect(ask('whose', {})).resolves.toBe('mine');
  });

  it('is one of several, answered in their order; one that fails withdraws the others', async () => {
    const ended = Promise.withResolvers<void>();
    await serve({
      double: async (given, { signal }) => {
        if (given === 0) throw new RequestRefused('nothing to double', 404);
        if (given === 9) await systemClock.sleep(60_000, signal).finally(() => ended.resolve());
        return Number(given) * 2;
      },
    });
    const asking = {
      kind: 'double',
      to: 'daemon',
      onLeft: () => void wake(database.db),
      onProgress: () => {},
    };
    const more = { lives: () => Promise.resolve(true), clock: systemClock };
    const all = (...given: number[]): Promise<unknown[]> =>
      askAll(database.db, given, { ...asking, ...more, signal: new AbortController().signal });
    await expect(all(1, 2, 3)).resolves.toEqual([2, 4, 6]);
    await expect(all(9, 0)).rejects.toThrow('nothing to double');
    await ended.promise;
  });

  it('may answer what jsonb has no value for', async () => {
    await serve({ odd: () => Promise.resolve({ text: 'a\0b' }) });
    await expect(ask('odd', {})).resolves.toEqual({ text: 'a\uFFFDb' });
  });

  it('is not begun when its asker is gone, which hears it should it only be late', async () => {
    const { db } = database;
    const long = new Date(Date.now() - 60_000);
    await db.state
      .insertInto('command')
      .values({
        command_id: '00000000-0000-4000-8000-000000000001',
        kind: 'add',
        arguments: '{}',
        owner: 'daemon',
        created_at: long,
        wanted_until: long,
      })
      .execute();
    let begun = 0;
    await serve({
      add: () => {
        begun += 1;
        return Promise.resolve();
      },
    });
    await ask('add', {});
    expect(begun).toBe(1);
    const { rows } = await db.sql<{ state: string }>`
      select state from ${db.stateTable('command')} where command_id = '00000000-0000-4000-8000-000000000001'`;
    expect(rows).toEqual([{ state: 'cancelled' }]);
  });
});
