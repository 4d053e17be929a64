import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask as askFor, commandService, type CommandHandler } from '../../../src/commands/commands.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { type Service, Stopped } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { databaseForEach } from '../../support/databases/migrated-database.ts';

const database = databaseForEach();
let service: Service;
let bell: Doorbell;
const failures: unknown[] = [];

beforeEach(async () => {
  bell = new Doorbell();
  failures.length = 0;
  await sql`
    create function refuse() returns trigger language plpgsql set search_path = '' as
    $$ begin raise 'the database is in trouble'; end $$`.execute(database.kysely);
});
afterEach(() => service.stop());

async function serve(handler: CommandHandler): Promise<void> {
  const { db } = database;
  service = commandService({
    db,
    processId: 'daemon',
    handlers: { work: handler },
    bell,
    clock: systemClock,
    onFailure: (error) => failures.push(error),
  });
  await service.start();
}

const query = (text: string): Promise<unknown> => sql.raw(text).execute(database.kysely);

async function ask(signal = new AbortController().signal, onLeft = () => bell.ring()): Promise<unknown> {
  const [result] = await askFor(database.db, [{}], {
    kind: 'work',
    to: 'daemon',
    onLeft,
    onProgress: () => {},
    lives: () => Promise.resolve(true),
    clock: systemClock,
    signal,
  });
  return result;
}

describe('a command', () => {
  it('that was taken is carried out, though the database fails right after', async () => {
    await query(`create trigger refuse before delete on mirror_sync.command execute function refuse()`);
    await serve(() => Promise.resolve('done'));
    await expect(ask()).resolves.toBe('done');
    expect(failures).toHaveLength(1);
  });

  it.each(['queued', 'running'])('waits where the database is read-only when it is %s', async (state) => {
    await query(`
      create function read_only() returns trigger language plpgsql set search_path = '' as
      $$ begin raise read_only_sql_transaction; end $$`);
    await query(`create trigger refuse before update on mirror_sync.command for each row
      when (old.state = '${state}' and new.state <> '${state}') execute function read_only()`);
    await serve(() => Promise.resolve('done'));
    const asked = ask();
    // It is looked at again and again, and nobody rings.
    await eventually('three failures', () => failures.length >= 3);
    await query('drop trigger refuse on mirror_sync.command');
    await expect(asked).resolves.toBe('done');
  });

  it('is waited for though the database is read-only for its asker for a moment', async () => {
    await query(`
      create sequence tried;
      create function read_only() returns trigger language plpgsql set search_path = '' as
      $$ begin perform nextval('public.tried'); raise read_only_sql_transaction; end $$;
      create trigger refuse before update on mirror_sync.command for each row
        when (new.wanted_until <> old.wanted_until) execute function read_only()`);
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<string>();
    await serve(() => {
      begun.resolve();
      return go.promise;
    });
    const asked = ask();
    await begun.promise;
    await eventually('three attempts to say that it still waits', async () => {
      const { rows } = await sql<{ is: boolean }>`select last_value > 3 as is from tried`.execute(
        database.kysely,
      );
      return rows[0]?.is === true;
    });
    await query('drop trigger refuse on mirror_sync.command');
    go.resolve('done');
    await expect(asked).resolves.toBe('done');
  });

  it('fails with the reason where a full disk has room for that, and not for its answer', async () => {
    await query(`create function no_room() returns trigger language plpgsql set search_path = '' as
      $$ begin raise exception using errcode = '53100', message = 'no room'; end $$`);
    await query(`create trigger no_room before update on mirror_sync.command for each row
      when (new.state = 'done') execute function no_room()`);
    await serve(() => Promise.resolve('done'));
    await expect(ask()).rejects.toThrow(/53100 no room/);
  });

  it('is not done a second time where its answer can’t be stored at all', async () => {
    await query(`create trigger refuse before update on mirror_sync.command for each row
      when (new.state in ('done', 'failed')) execute function refuse()`);
    let done = 0;
    await serve(() => Promise.resolve((done += 1)));
    const withdrawn = new AbortController();
    const asked = ask(withdrawn.signal).catch((error: unknown) => error);
    await eventually('the failure to answer', () => failures.length > 0);
    // The next one is taken, and the first one is not taken again.
    const next = ask(withdrawn.signal).catch((error: unknown) => error);
    await eventually('the next one to be done', () => {
      bell.ring();
      return failures.length > 1;
    });
    expect(done).toBe(2);
    withdrawn.abort(new Stopped('the asker'));
    await Promise.all([asked, next]);
  });

  it('that was taken, while the answer that says so was lost, is carried out', async () => {
    await serve(() => Promise.resolve('done'));
    const { db } = database;
    const lost = ask(undefined, () => {});
    await eventually('it to count as taken', async () => {
      const { rows } = await sql`update mirror_sync.command set state = 'running' returning 1`.execute(db);
      return rows.length > 0;
    });
    bell.ring();
    await expect(lost).resolves.toBe('done');
  });

  it('is still withdrawn by its asker after its progress could not be written for a while', async () => {
    await query(`create trigger refuse before update on mirror_sync.command for each row
      when (new.progress is distinct from old.progress) execute function refuse()`);
    const ended = Promise.withResolvers<unknown>();
    await serve(async (_, { signal, report }) => {
      report({ done: 1 });
      await systemClock.sleep(60_000, signal).catch((error: unknown) => {
        ended.resolve(error);
        throw error;
      });
    });
    const interrupt = new AbortController();
    const asked = ask(interrupt.signal);
    const stopped = asked.catch((error: unknown) => error);
    await eventually('a failure', () => failures.length > 0);
    await query('drop trigger refuse on mirror_sync.command');
    interrupt.abort(new Stopped('the asker'));
    expect(await stopped).toBeInstanceOf(Stopped);
    await expect(ended.promise).resolves.toBeInstanceOf(Stopped);
  });

  it('ends for an asker that was taken for gone, for example because it slept', async () => {
    const begun = Promise.withResolvers<void>();
    await serve(async (_, { signal }) => {
      begun.resolve();
      await systemClock.sleep(60_000, signal);
    });
    const asked = ask();
    const told = asked.catch((error: unknown) => error);
    await begun.promise;
    await query(`update mirror_sync.command set state = 'cancelled'`);
    expect(await told).toMatchObject({
      message: expect.stringContaining('took the request for withdrawn') as string,
      remedy: 'retry',
    });
  });
});
