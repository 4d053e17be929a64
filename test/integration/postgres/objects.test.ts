import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { foreignObjects, writable } from '../../../src/operate/check-database.ts';
import { presentParts, whatIsMissing } from '../../../src/postgres/inspection.ts';
import { pendingMigrations } from '../../../src/postgres/run-migrations.ts';
import { MIGRATIONS, createMigratedDatabase, databaseForEach } from '../../support/databases/migrated-database.ts';

const own = databaseForEach(() => createMigratedDatabase('other'));

it('objects.txt is what the migrations make (node test/support/databases/dump-schema.ts writes it)', async () => {
  const written = await readFile(join(MIGRATIONS, 'objects.txt'), 'utf8');
  expect(`${(await presentParts(own.db)).join('\n')}\n`).toBe(written);
});

describe('what migrations made and is gone is named:', () => {
  const LISTS = 'alter table other.lists';
  it.each([
    ['nothing, where others have things of their own beside it', 'create table other.more (a int)'],
    ['a table', 'drop table other.quarantine cascade', 'the mirror lacks table other.quarantine'],
    [
      'one that was renamed',
      `${LISTS} rename to "Old lists"`,
      'table other.lists, and no migration creates it again. Bring it back, under its name or from a backup',
    ],
    ['a state table', 'alter table other_sync.scope set schema other', 'table other_sync.scope'],
    ['a schema, without what was in it', 'alter schema other rename to hidden', 'lacks schema other, and'],
    ['a column', `${LISTS} drop column _raw cascade`, 'column other.lists._raw jsonb'],
    [
      'a column that has another type',
      'alter table other_sync.hint alter column key type varchar(3)',
      'column other_sync.hint.key text',
    ],
    ['a key', `${LISTS} drop constraint lists_pkey cascade`, 'unique other.lists (_user_id, list_id)'],
    ['a function', 'drop function other.cancel_submission', 'function other.cancel_submission(bigint)'],
    ['a view', 'drop view other.companies', 'view other.companies'],
    [
      'many things, of which three are named',
      'drop view other.companies, other.changes, other.data_quality, other.credits_daily, other.columns',
      'view other.changes, view other.columns, view other.companies and 2 more',
    ],
  ])('%s', async (_, broken, lacks = '') => {
    await own.db.raw(broken);
    const missing = await whatIsMissing(own.db, MIGRATIONS);
    expect([missing === undefined, missing ?? '']).toEqual([lacks === '', expect.stringContaining(lacks) as string]);
    // Only readers miss a view: no write needs it.
    const isWritten = lacks !== '' && !lacks.includes('view');
    expect((await whatIsMissing(own.db, MIGRATIONS, false)) !== undefined).toBe(isWritten);
  });

  it('the table of migrations itself, so that nobody takes the mirror for a new one', async () => {
    await own.db.raw('alter table other_sync.migration rename to m');
    await expect(pendingMigrations({ db: own.db, folder: MIGRATIONS, version: '0.2.0' })).rejects.toThrow(
      'the table other_sync.migration is missing, and the rest of the mirror is there',
    );
  });
});

describe('what somebody put in the way of writes is named, with the SQL that takes it away:', () => {
  const TRIGGER = `create function public.act() returns trigger language plpgsql as $$ begin return new; end $$;
    create trigger act before insert on other.lists for each row execute function public.act()`;
  const EVENT_TRIGGER = `create function public.ddl() returns event_trigger language plpgsql as $$ begin end $$;
    create event trigger watch on ddl_command_end`;
  const IDENTITY = 'alter table other.lists replica identity';
  it.each([
    ['nothing, of tables that are not the mirror’s', 'create rule r as on insert to other.more do instead nothing'],
    ['a trigger', TRIGGER, 'warning', 'the trigger act on other.lists runs with each write'],
    ['no trigger that is disabled', `${TRIGGER}; alter table other.lists disable trigger act`],
    [
      'a rule',
      'create rule r as on update to other_sync.scope do instead nothing',
      'broken',
      'the rule r on other_sync.scope intercepts writes',
    ],
    [
      'an event trigger',
      `${EVENT_TRIGGER} execute function public.ddl()`,
      'warning',
      'the event trigger watch runs when the mirror creates a column or migrates',
    ],
    [
      'no event trigger of other commands',
      `${EVENT_TRIGGER} when tag in ('CREATE SERVER', 'CREATE EXTENSION') execute function public.ddl()`,
    ],
    [
      'a replica identity that is nothing',
      `${IDENTITY} nothing`,
      'warning',
      'other.lists has no replica identity: a publication would make Postgres refuse its changes',
    ],
    [
      'the same in a publication',
      `${IDENTITY} nothing; create publication p for tables in schema other`,
      'broken',
      'the publication p makes Postgres refuse its changes',
    ],
    [
      'a replica identity whose index is gone',
      `create unique index gone on other.lists (_user_id, list_id); ${IDENTITY} using index gone; drop index other.gone`,
      'warning',
      'other.lists has no replica identity',
    ],
    [
      'an unlogged table',
      'alter table other.lists set unlogged',
      'warning',
      'other.lists is unlogged: a crash of the server empties it',
    ],
  ])('%s', async (_, broken, state = 'ok', named = '') => {
    await own.db.raw('create table other.more (a int)');
    await own.db.raw(broken);
    const found = [await foreignObjects(own.db)].flat();
    expect(found).toMatchObject([{ state, found: expect.stringContaining(named) as string }]);
    if (state === 'ok') return;
    await own.db.raw(found[0]?.sql ?? '');
    expect(await foreignObjects(own.db)).toMatchObject({ state: 'ok' });
  });
});

it('doctor tries a write of a page’s size and a column, and leaves nothing', async () => {
  const told = async (): Promise<string> => {
    const { state, found } = await writable(own.db, { mirror: () => Promise.resolve(own.db) });
    return `${state}: ${found}`;
  };
  const before = await presentParts(own.db);
  expect(await told()).toBe('ok: accepts writes');
  expect(await presentParts(own.db)).toEqual(before);
  // Like a full disk: only the second command on a table is refused.
  await own.db.raw(`create function public.full_disk() returns event_trigger language plpgsql as $$ begin
      raise exception using errcode = '53100', message = 'No space left on device'; end $$;
    create event trigger full_disk on ddl_command_end when tag in ('ALTER TABLE')
      execute function public.full_disk()`);
  expect(await told()).toMatch(/^broken: .*\(53100 No space left on device\)\. Free space/);
});
