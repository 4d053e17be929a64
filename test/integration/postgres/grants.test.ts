import { Db } from '../../../src/postgres/db.ts';
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { migrate, MIGRATION_BOUNDS } from '../../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import {
  MIGRATIONS,
  openTestDatabase,
  createEmptyDatabase,
  databaseForEach,
} from '../../support/databases/migrated-database.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

/** Roles belong to the server. A schema name of this file's own keeps its roles apart from those of other files. */
const SCHEMA = 'granting';
const open = databaseForEach(() => createEmptyDatabase({ bounds: MIGRATION_BOUNDS }));
const { rows: run } = open;
const folder = folderForEach();

/** The first act of every start. */
const start = (migrations = MIGRATIONS, { kysely } = open) =>
  migrate({ db: new Db(kysely, SCHEMA), folder: migrations, version: '99.0.0', clock: systemClock });

async function dropRoles(): Promise<void> {
  for (const role of ['granting_reader', 'granting_submitter', 'granting_writer']) {
    await run(`do $$ begin if to_regrole('${role}') is not null then
      drop owned by ${role}; drop role ${role}; end if; end $$`);
  }
}
afterEach(dropRoles);

/** The migrations up to the number, and one of a later version. */
async function migrationsTo(number: number, later?: string): Promise<string> {
  const some = join(folder.path, String(number));
  await mkdir(some, { recursive: true });
  for (const name of await readdir(MIGRATIONS)) {
    if (Number(name.slice(0, 4)) <= number) await copyFile(join(MIGRATIONS, name), join(some, name));
  }
  if (later !== undefined) await writeFile(join(some, '9000_later.sql'), `-- oldest program: 0.2.0\n${later}`);
  return some;
}

/** What a role may do: `usage`, the relations that it may read, the functions that it may call; by default all there is. */
async function rights(role?: string): Promise<string[]> {
  const may = (kind: string, object: string, right: string): string =>
    role === undefined ? 'true' : `has_${kind}_privilege('${role}', ${object}, '${right}')`;
  const rows = await run<{ what: string }>(`
    select 'usage' as what where ${may('schema', `'${SCHEMA}'`, 'usage')}
    union all select relname from pg_class
    where relnamespace = '${SCHEMA}'::regnamespace and relkind in ('r', 'v') and ${may('table', 'oid', 'select')}
    union all select proname || '()' from pg_proc
    where pronamespace = '${SCHEMA}'::regnamespace and ${may('function', 'oid', 'execute')} order by 1`);
  return rows.map(({ what }) => what);
}
const ofReader = () => rights('granting_reader');
const everyReading = async () => (await rights()).filter((what) => !/^(?:submit|cancel_submission)\(\)$/.test(what));

const ofBoth = async () => [await ofReader(), await rights('granting_submitter')];
const allRights = async () => [await everyReading(), await rights()];

const LATER = `create table "{schema}".later (_user_id bigint primary key); create view "{schema}".later_live as select 1 as one;
  alter table "{schema}".lists add column later text;
  do $$ begin execute format('create or replace view "{schema}".lists_live as %s',
    rtrim(pg_get_viewdef('"{schema}".lists_live'::regclass), ';')); end $$;`;

describe('the first rights', () => {
  it('are those of readers and submitters, whether a role is there before the mirror or made with it', async () => {
    await run('create role granting_reader nologin');
    await start();
    expect(await ofBoth()).toEqual(await allRights());
  });

  it('are granted once to a role that an operator makes later, if the daemon may make none', async () => {
    await run(`create role granting_owner login createdb; grant granting_owner to current_user;
      do $$ begin execute format('grant create on database %I to granting_owner', current_database()); end $$`);
    const asOwner = { ...open, ...(await openTestDatabase(open.url, { max: 1 })) };
    try {
      await asOwner.db.sql`set session authorization granting_owner`;
      await start(MIGRATIONS, asOwner);
      expect(await run(`select to_regrole('granting_reader') as role`)).toEqual([{ role: null }]);
      await run('create role granting_reader nologin');
      await start(MIGRATIONS, asOwner);
      expect(await ofReader()).toEqual(await everyReading());
      await run(`revoke usage on schema granting from granting_reader`);
      await start(MIGRATIONS, asOwner);
      expect(await ofReader()).not.toContain('usage');
    } finally {
      await asOwner.close();
      await dropRoles();
      await run('drop owned by granting_owner cascade; drop role granting_owner');
    }
  });

  it('let only the owner write the operator log, even if default privileges let others write new tables', async () => {
    await start(await migrationsTo(34));
    await run(`create role granting_writer nologin;
      alter default privileges in schema ${SCHEMA} grant all on tables to granting_writer`);
    await start();
    const may = await run(`select what from unnest(
        array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as what
      where has_table_privilege('granting_writer', '${SCHEMA}.operator_log', what)`);
    expect(may).toEqual([{ what: 'select' }]);
  });

  it('are granted again to a role that was dropped and made again', async () => {
    await start();
    await dropRoles();
    await start();
    expect(await ofBoth()).toEqual(await allRights());
  });
});

describe('what an operator takes away', () => {
  it.each([
    ['schema granting', 'usage', 'usage'],
    ['granting.account', 'select', 'account'],
    ['function granting.lists_as_of(timestamptz)', 'execute', 'lists_as_of()'],
  ])('stays revoked over starts, migrations, new columns and views: %s', async (object, right, gone) => {
    const older = await migrationsTo(999);
    await start(older);
    await run(`revoke ${right} on ${object} from granting_reader`);
    const left = (await everyReading()).filter((what) => what !== gone);
    expect(await ofReader()).toEqual(left);
    await start(older);
    expect(await ofReader()).toEqual(left);
    for (let times = 0; times < 2; times += 1) await start(await migrationsTo(999, LATER));
    // New objects are granted to a role that has the rest.
    expect(await ofReader()).toEqual([...left, 'later', 'later_live'].toSorted());
    expect(await rights('granting_submitter')).toEqual(await rights());
  });

  it('stays revoked if it was a default privilege', async () => {
    await start();
    await run('alter default privileges in schema granting revoke select on tables from granting_reader');
    await start(await migrationsTo(999, LATER));
    expect(await ofReader()).not.toContain('later');
  });

  it('stays revoked in a mirror of 0.1.0, which granted it again at each start', async () => {
    await run('create role granting_reader nologin');
    await start(await migrationsTo(3));
    await run(`revoke usage on schema granting from granting_reader; revoke select on granting.account from granting_reader;
      drop table granting_sync.granted`);
    for (let times = 0; times < 2; times += 1) await start();
    const now = await ofReader();
    expect(now).toContain('lists');
    expect(now.filter((what) => ['usage', 'account'].includes(what))).toEqual([]);
  });

  it('stays revoked without what an operator adds being taken away', async () => {
    await start();
    await run('grant select on granting.lists to public; grant insert on granting.lists to granting_reader');
    await start(await migrationsTo(999, LATER));
    expect(
      await run(`select has_table_privilege('public', 'granting.lists', 'select') as all,
        has_table_privilege('granting_reader', 'granting.lists', 'insert') as more`),
    ).toEqual([{ all: true, more: true }]);
  });

  it('stays revoked if the role has another ID on the server where the database was restored', async () => {
    await start();
    await run(`revoke select on granting.account from granting_reader;
      update granting_sync.granted set role_id = '1' where role = 'granting_reader'`);
    await start();
    expect(await ofReader()).not.toContain('account');
  });
});
