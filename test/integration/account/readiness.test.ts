import { Db } from '../../../src/postgres/db.ts';
import { describe, expect, it } from 'vitest';
import { readiness, WriteHealth } from '../../../src/status/readiness.ts';
import { presentParts } from '../../../src/postgres/inspection.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { createLoginRole } from '../../support/postgres/login-role.ts';
import {
  createEmptyDatabase,
  createMigratedDatabase,
  databaseForEach,
  inOwnDatabase,
  openTestDatabase,
  testDatabase,
} from '../../support/databases/migrated-database.ts';

const opened = testDatabase(createEmptyDatabase);

const clock = new VirtualClock();
const NOTHING_REFUSED = { tried: true, why: () => undefined };
/** As told `ms` before the last heartbeat runs out. */
const ready = (
  ms = 10_000,
  writes: Pick<WriteHealth, 'tried' | 'why'> = NOTHING_REFUSED,
  db = opened.db,
): ReturnType<typeof readiness> => readiness(db, writes, -ms);

describe('whether a delivery could be stored now', () => {
  it('is shown by heartbeats, each of which commits a write', async () => {
    expect(await ready()).toEqual({ ok: true });
    const no = (why: string) => ({ ok: false, why: expect.stringContaining(why) as string });
    expect(await ready(-5_000)).toEqual(no('no heartbeat reaches the database: the last one expired 5 s ago'));
    expect(await ready(-Infinity)).toEqual(no('is starting'));
  });

  it('is denied at once if the database is read-only, and confirmed as soon as it is not, with the same pool', async () => {
    await inOwnDatabase(async ({ db, url }) => {
      const name = new URL(url).pathname.slice(1);
      await opened.db.raw(`alter database ${name} set default_transaction_read_only = on`);
      await opened.db.raw(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`);
      const asked = (): ReturnType<typeof ready> => ready(10_000, NOTHING_REFUSED, db);
      const { why } = (await eventually('an answer', () => asked())) as { why?: string };
      expect(why).toContain('the database is read-only');
      const write = 'delete from other.lists';
      // Several sessions are there, of which one alone is found out.
      const onFour = async <T>(use: () => Promise<T>): Promise<T[]> => Promise.all([1, 2, 3, 4].map(use));
      await onFour(() => db.raw('select pg_sleep(0.1)'));
      expect(String(await refusalOf(db, write))).toContain('25006');
      await opened.db.raw(`alter database ${name} reset default_transaction_read_only`);
      expect(await asked()).toEqual({ ok: true });
      expect(await onFour(() => refusalOf(db, write))).toEqual([undefined, undefined, undefined, undefined]);
    });
  });

  it('is denied before the trial of the start is over', async () => {
    expect(await ready(10_000, { tried: false, why: () => undefined })).toMatchObject({ ok: false });
  });

  it('is an error if the database does not answer', async () => {
    const gone = await openTestDatabase(opened.url);
    await gone.close();
    await expect(ready(10_000, NOTHING_REFUSED, gone.db)).rejects.toThrow();
  });
});

/** What Postgres refuses with that SQLSTATE by itself. */
const REFUSED: Readonly<Record<string, string>> = {
  '3F000': 'create table nowhere.t (a int)',
  '42P01': 'select from nowhere',
  '42703': 'select nothing from pg_class',
  '42883': 'select nothing()',
  '42501': 'set local role pg_monitor; select from pg_authid',
};

/** A refusal by Postgres, with that SQLSTATE. */
function refusal(state: string): Promise<unknown> {
  const raised = `do $$ begin raise exception using errcode = '${state}', message = 'as it is'; end $$`;
  return refusalOf(opened.db, REFUSED[state] ?? raised);
}

const refusalOf = (db: Db, text: string): Promise<unknown> =>
  db.raw(text).then(
    () => undefined,
    (error: unknown) => error,
  );

/** Health of writes with its log, and its trials on a clock that stands still. */
function watched(db: Db) {
  const said: string[] = [];
  const say = (line: unknown): void => void said.push(String(line));
  const writes = new WriteHealth({ warn: say, info: say });
  return { writes, said, trial: () => writes.tryOut(db) };
}

describe('a refused write', () => {
  const counts = { items: 1, inserted: 0, updated: 0, unchanged: 1, quarantined: 0 };
  const PAGE = { scope: { userId: '1', collection: 'lists', parent: '' }, kind: 'poll', ...counts } as const;

  it('counts until a write of its kind succeeds: a heartbeat clears only a heartbeat’s, a page must have written', async () => {
    const { writes, said } = watched(opened.db);
    writes.refused('heartbeat', await refusal('53200'));
    writes.refused('page', await refusal('53100'));
    writes.refused('delivery', await refusal('53100'));
    expect(await ready(10_000, writes)).toMatchObject({ ok: false });
    writes.wentThrough('heartbeat');
    expect(writes.why()).toMatch(/53100 as it is\)\. Free space/);
    writes.observer.pageWritten?.(PAGE);
    writes.wentThrough('delivery');
    expect(writes.why()).toMatch(/53100/);
    writes.observer.pageWritten?.({ ...PAGE, inserted: 1 });
    expect(writes.why()).toBeUndefined();
    expect(said).toEqual([
      expect.stringMatching(/^not ready: the database can't do it now \(53200 /),
      'ready: the database takes writes again',
    ]);
  });

  it('of a missing table is tried at once, and counts until a trial finds it', async () => {
    await inOwnDatabase(async ({ db }) => {
      const { writes, said } = watched(db);
      const trials = writes.trials(db, clock);
      await trials.start();
      await eventually('the first trial', () => writes.tried);
      await db.raw('alter table other.watchlist rename to gone');
      writes.refused('page', await refusalOf(db, 'select from other.watchlist'));
      writes.observer.pageWritten?.({ ...PAGE, inserted: 1 });
      writes.wentThrough('heartbeat');
      expect(writes.why()).toMatch(/42P01/);
      await eventually('a trial', () => /no migration creates it again/.test(writes.why() ?? ''));
      await db.raw('alter table other.gone rename to watchlist');
      writes.observer.pageWritten?.({ ...PAGE, inserted: 1 });
      expect(writes.why()).toBeDefined();
      await writes.tryOut(db);
      expect(writes.why()).toBeUndefined();
      expect(said).toEqual([expect.stringMatching(/^not ready: /), 'ready: the database takes writes again']);
      await trials.stop();
    });
  });

  const WHOLE = '53100 53200 53300 53400 25006 58030 XX001 3F000 42P01 42703 42883 42501'.split(' ');
  const PARTS = 'P0001 23505 23503 22003 55000 0A000 40001 40P01 55P03 57014 54000'.split(' ');
  it.each([
    ...WHOLE.map((state) => ['the whole database', state] as const),
    ...PARTS.map((state) => ['a row, a table or a moment', state] as const),
  ])('concerns %s with %s', async (what, state) => {
    const { writes } = watched(opened.db);
    writes.refused('page', await refusal(state));
    if (what === 'the whole database') expect(writes.why()).toContain(state);
    else expect(writes.why()).toBeUndefined();
  });

  it('by a user’s trigger concerns that table alone', async () => {
    await inOwnDatabase(async ({ db }) => {
      await db.raw(`create function public.audit() returns trigger language plpgsql as $$
          begin insert into public.audited values (new.key_hash); return new; end $$;
        create trigger audit before insert on other_sync.first_ping for each row execute function public.audit()`);
      const refused = await refusalOf(db, `insert into other_sync.first_ping values ('a', now())`);
      const { writes } = watched(db);
      writes.refused('page', refused);
      expect(String(refused)).toMatch(/42P01 .*, in a function or trigger/);
      expect(writes.why()).toBeUndefined();
    });
  });
});

describe('a trial', () => {
  const own = databaseForEach(() => createMigratedDatabase('other'));

  it('clears every refusal if a page’s size can be written, and leaves nothing', async () => {
    const { writes, trial } = watched(own.db);
    const before = await presentParts(own.db);
    for (const kind of ['page', 'delivery', 'heartbeat'] as const) writes.refused(kind, await refusal('53100'));
    await trial();
    expect(writes.why()).toBeUndefined();
    expect(await presentParts(own.db)).toEqual(before);
  });

  const MISSING = /lacks table other\.lists, and no migration creates it again\. Bring it back, under its name/;
  it.each([
    ['what is missing', 'alter table other.lists rename to gone', MISSING],
    ['no view that is missing', 'drop view other.companies', undefined],
    [
      'a full disk',
      `create function public.full_disk() returns event_trigger language plpgsql as $$ begin
        raise exception using errcode = '53100', message = 'full'; end $$;
      create event trigger full_disk on ddl_command_end when tag in ('CREATE TABLE AS') execute function public.full_disk()`,
      /53100 full/,
    ],
    [
      'nothing of DDL that is frozen: rows may go through',
      `create function public.frozen() returns event_trigger language plpgsql as $$ begin raise 'frozen'; end $$;
      create event trigger frozen on ddl_command_start execute function public.frozen()`,
      undefined,
    ],
  ])('says %s', async (_, broken, why) => {
    await own.db.raw(broken);
    const { writes, trial } = watched(own.db);
    await trial();
    if (why === undefined) expect(writes.why()).toBeUndefined();
    else expect(writes.why()).toMatch(why);
  });

  it('names the table that this user may not write, and how to grant the right', async () => {
    const login = await createLoginRole(own, []);
    try {
      const db = new Db(login.kysely, 'other');
      await own.db.raw(`grant usage, create on schema other, other_sync to ${login.name};
        grant select, insert, update, delete on all tables in schema other, other_sync to ${login.name};
        revoke insert on other_sync.scope from ${login.name}`);
      const { writes, trial } = watched(db);
      await trial();
      expect(writes.why()).toContain('may not write other_sync.scope: grant ');
      await own.db.raw(`grant insert on other_sync.scope to ${login.name}`);
      await trial();
      expect(writes.why()).toBeUndefined();
      // Where another user migrates, the daemon's makes no table: that is no reason.
      await own.db.raw(`revoke create on schema other, other_sync from ${login.name}`);
      await trial();
      expect(writes.why()).toBeUndefined();
    } finally {
      await login.drop();
    }
  });
});
