import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { ask as askAll, CommandFailed, commandService, type CommandHandler } from '../../../src/account/commands.ts';
import { createWakeups } from '../../../src/postgres/notifications.ts';
import { RequestRefused } from '../../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, startAll, stopAll, Stopped } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { databaseForEach } from '../../support/databases/migrated-database.ts';

const database = databaseForEach();
const running: Service[] = [];
const failures: unknown[] = [];
afterEach(async () => {
  await stopAll(running.splice(0));
  failures.length = 0;
});

/** A daemon that carries out `work`. @returns what rings for it, where it listens to nobody */
async function serve(work: CommandHandler, processId = 'daemon', listens = true): Promise<Doorbell> {
  const bell = new Doorbell();
  const { db, url } = database;
  const onFailure = (error: unknown): number => failures.push(error);
  const services = [commandService({ db, processId, handlers: { work }, bell, clock: systemClock, onFailure })];
  if (listens) {
    const log = { info: () => {}, warn: () => {} };
    const onWake = (): void => bell.ring();
    const connection = { url, program: 'test' };
    services.unshift(createWakeups({ connection, schema: db.schema, clock: systemClock, log, onWake }));
  }
  running.push(...services);
  await startAll(services);
  return bell;
}

type More = Partial<Parameters<typeof askAll>[2]>;
const askMany = (given: readonly unknown[], more: More = {}): Promise<unknown[]> =>
  askAll(database.db, given, {
    kind: 'work',
    to: 'daemon',
    onProgress: () => {},
    lives: () => Promise.resolve(true),
    clock: systemClock,
    signal: new AbortController().signal,
    ...more,
  });
const ask = async (given: unknown = {}, more: More = {}) => (await askMany([given], more))[0];
const failureOf = (asked: Promise<unknown>) => asked.catch((error: unknown) => error);

/** Work that lasts until it is ended. */
function lasting() {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Error>();
  const work: CommandHandler = async (_, { signal, report }) => {
    report({ done: 1 });
    begun.resolve();
    await systemClock.sleep(60_000, signal).catch((error: Error) => {
      ended.resolve(error);
      throw error;
    });
  };
  return { work, begun: begun.promise, ended: ended.promise };
}

describe('a command left for the daemon', () => {
  afterEach(() => expect(failures).toEqual([]));

  it('is carried out, with progress, and answered', async () => {
    const heard = Promise.withResolvers<unknown>();
    await serve(async (given, { report }) => {
      report({ done: 1 });
      await heard.promise;
      const { a, b } = given as { a: number; b: number };
      return { sum: a + b, odd: 'a\0b' };
    });
    // jsonb has no value for U+0000.
    const answer = { sum: 5, odd: 'a\uFFFDb' };
    await expect(ask({ a: 2, b: 3 }, { onProgress: heard.resolve })).resolves.toEqual(answer);
    expect(await heard.promise).toEqual({ done: 1 });
  });

  it('fails with the daemon’s message and remedy', async () => {
    await serve(() => Promise.reject(new RequestRefused('no such list', 404)));
    const failure = await failureOf(ask());
    expect(failure).toBeInstanceOf(CommandFailed);
    expect(failure).toMatchObject({ message: 'no such list', remedy: 'skip' });
    await expect(ask({}, { kind: 'dance' })).rejects.toThrow('does not know the command dance');
  });

  it('is withdrawn when the asker is interrupted: the daemon stops working on it', async () => {
    const { work, begun, ended } = lasting();
    await serve(work);
    const interrupt = new AbortController();
    const asked = ask({}, { signal: interrupt.signal });
    await begun;
    interrupt.abort(new Stopped('the command'));
    await expect(asked).rejects.toThrow('the command was stopped');
    expect((await ended).message).toContain('the withdrawn command');
  });

  it('fails when the daemon stops, and says so', async () => {
    const { work, begun } = lasting();
    await serve(work);
    const told = failureOf(ask());
    await begun;
    await stopAll(running.splice(0));
    expect(await told).toMatchObject({ message: 'the daemon was stopped' });
  });

  it('is carried out only by the daemon that it was left for', async () => {
    let begun = 0;
    await serve(() => Promise.resolve((begun += 1)));
    const gone = { to: 'another daemon', lives: () => Promise.resolve(false) };
    const message: unknown = expect.stringContaining('the daemon stopped before it finished');
    await expect(ask({}, gone)).rejects.toMatchObject({ message, remedy: 'retry' });
    expect(begun).toBe(0);
  });

  it('is answered in the order of several; one that fails withdraws the others', async () => {
    const ended = Promise.withResolvers<void>();
    await serve(async (given, { signal }) => {
      if (given === 0) throw new RequestRefused('nothing to double', 404);
      if (given === 9) await systemClock.sleep(60_000, signal).finally(() => ended.resolve());
      return Number(given) * 2;
    });
    await expect(askMany([1, 2, 3])).resolves.toEqual([2, 4, 6]);
    await expect(askMany([9, 0])).rejects.toThrow('nothing to double');
    await ended.promise;
  });

  it('is not begun when its asker is gone, and a late asker is told', async () => {
    await query(`insert into mirror_sync.command (command_id, kind, arguments, owner, created_at, wanted_until)
      select gen_random_uuid(), 'work', '{}', 'daemon', at, at from (select now() - interval '1 min' as at) as t`);
    let begun = 0;
    await serve(() => Promise.resolve((begun += 1)));
    await ask();
    expect(begun).toBe(1);
    const { rows } = await database.db.sql`select state from mirror_sync.command where wanted_until < now()`;
    expect(rows).toEqual([{ state: 'cancelled' }]);
  });
});

const query = (text: string): Promise<unknown> => sql.raw(text).execute(database.kysely);

/** Such changes of commands fail. @returns ends that */
async function refuse(
  what: 'delete' | 'update',
  when = '',
  how = `raise 'the database is in trouble'`,
): Promise<() => Promise<unknown>> {
  await query(`
    create function refuse() returns trigger language plpgsql set search_path = '' as $$ begin ${how}; end $$;
    create trigger refuse before ${what} on mirror_sync.command ${when === '' ? '' : `for each row when (${when})`}
      execute function refuse()`);
  return () => query('drop trigger refuse on mirror_sync.command');
}
const READ_ONLY = 'raise read_only_sql_transaction';

describe('a command, where the database is in trouble,', () => {
  it('that was taken is carried out, though the database fails right after', async () => {
    await refuse('delete');
    await serve(() => Promise.resolve('done'));
    await expect(ask()).resolves.toBe('done');
    expect(failures).toHaveLength(1);
  });

  it.each(['queued', 'running'])('waits if the database is read-only when it is %s', async (state) => {
    const relent = await refuse('update', `old.state = '${state}' and new.state <> '${state}'`, READ_ONLY);
    await serve(() => Promise.resolve('done'));
    const asked = ask();
    // It is looked at again and again, and nobody rings.
    await eventually('three failures', () => failures.length >= 3);
    await relent();
    await expect(asked).resolves.toBe('done');
  });

  it('is waited for though the database is briefly read-only for its asker', async () => {
    await query('create sequence tried');
    const count = `perform nextval('public.tried')`;
    const relent = await refuse('update', 'new.wanted_until <> old.wanted_until', `${count}; ${READ_ONLY}`);
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<string>();
    await serve(() => {
      begun.resolve();
      return go.promise;
    });
    const asked = ask();
    await begun.promise;
    await eventually('three attempts to say that it still waits', async () => {
      const { rows } = await database.db.sql<{ is: boolean }>`select last_value > 3 as is from tried`;
      return rows[0]?.is === true;
    });
    await relent();
    go.resolve('done');
    await expect(asked).resolves.toBe('done');
  });

  it('fails with the reason if a full disk has room for that and not for its answer', async () => {
    const noRoom = `raise exception using errcode = '53100', message = 'no room'`;
    await refuse('update', `new.state = 'done'`, noRoom);
    await serve(() => Promise.resolve('done'));
    await expect(ask()).rejects.toThrow(/53100 no room/);
  });

  it('is not done a second time if its answer can’t be stored', async () => {
    await refuse('update', `new.state in ('done', 'failed')`);
    let done = 0;
    const bell = await serve(() => Promise.resolve((done += 1)));
    const withdrawn = new AbortController();
    const { signal } = withdrawn;
    const asked = failureOf(ask({}, { signal }));
    await eventually('the failure to answer', () => failures.length > 0);
    // The next one is taken, and the first one is not taken again.
    const next = failureOf(ask({}, { signal }));
    await eventually('the next one to be done', () => {
      bell.ring();
      return failures.length > 1;
    });
    expect(done).toBe(2);
    withdrawn.abort(new Stopped('the asker'));
    await Promise.all([asked, next]);
  });

  it('that was taken without the database’s answer is carried out', async () => {
    const bell = await serve(() => Promise.resolve('done'), 'daemon', false);
    const lost = ask();
    await eventually('it to count as taken', async () => {
      const { rows } = await database.db.sql`update mirror_sync.command set state = 'running' returning 1 as one`;
      return rows.length > 0;
    });
    bell.ring();
    await expect(lost).resolves.toBe('done');
  });

  it('is still withdrawn by its asker after its progress could not be written for a while', async () => {
    const relent = await refuse('update', 'new.progress is distinct from old.progress');
    const { work, ended } = lasting();
    await serve(work);
    const interrupt = new AbortController();
    const stopped = failureOf(ask({}, { signal: interrupt.signal }));
    await eventually('a failure', () => failures.length > 0);
    await relent();
    interrupt.abort(new Stopped('the asker'));
    expect(await stopped).toBeInstanceOf(Stopped);
    expect(await ended).toBeInstanceOf(Stopped);
  });

  it('ends for an asker that counted as gone, for example because it slept', async () => {
    const { work, begun } = lasting();
    await serve(work);
    const told = failureOf(ask());
    await begun;
    await query(`update mirror_sync.command set state = 'cancelled'`);
    const message: unknown = expect.stringContaining('the daemon cancelled the command: it heard nothing');
    expect(await told).toMatchObject({ message, remedy: 'retry' });
  });
});
