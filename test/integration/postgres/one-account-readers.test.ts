import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';
import { messageOf } from '@research-mirror/runtime/message';
import { programVersion } from '../../../src/config/program.ts';
import { migrate, MIGRATION_BOUNDS } from '../../../src/postgres/run-migrations.ts';
import { extendRestoredViews, takeTurn } from '../../../src/mirror/table-columns.ts';
import { MIGRATIONS, opened, testDatabase } from '../../support/databases/migrated-database.ts';
import { createMirrorOf020 } from '../../support/databases/mirror-of-0.2.0.ts';
import { createLoginRole, type LoginRole } from '../../support/postgres/login-role.ts';

// A mirror of 0.2.0 with two accounts, in which some may read views and not their tables, is upgraded; then a login is
// bound to the account 1001. What there is to read is found in the catalogue.

const folder = folderForEach();
const database = testDatabase(async () => opened(await createMirrorOf020(), { bounds: MIGRATION_BOUNDS }));
const { rows: run } = database;
const roles: LoginRole[] = [];
let one: LoginRole;
let all: LoginRole;
let ofView: LoginRole;
let ofOwnView: LoginRole;
/** What was seen after the upgrade, before a login was bound. */
let after: Awaited<ReturnType<typeof lookAfterUpgrade>>;

const upgrade = (path = MIGRATIONS) =>
  migrate({ db: database.db, folder: path, version: programVersion(), clock: systemClock });
const login = async (...groups: string[]): Promise<LoginRole> => {
  const made = await createLoginRole(database, groups);
  roles.push(made);
  return made;
};
const bind = (role: LoginRole, account: number) => run(`select mirror_sync.bind_reader('${role.name}', ${account})`);

beforeAll(async () => {
  for (const group of ['mirror_reader', 'mirror_submitter'])
    await run(
      `do $$ begin create role ${group}; exception when duplicate_object or unique_violation then null; end $$`,
    );
  const [ofSome, ofColumn] = [await login(), await login()];
  [ofView, ofOwnView] = [await login(), await login()];
  await run(`grant usage on schema mirror to ${ofView.name}, ${ofSome.name}, ${ofOwnView.name}, ${ofColumn.name};
    grant select on mirror.watchlist_live, mirror.credits_daily, mirror.companies, mirror.data_quality to ${ofView.name};
    grant select on mirror.changes, mirror.lists, mirror.lists_history, mirror._collections to ${ofSome.name};
    grant select on mirror.lists_live to ${ofOwnView.name};
    grant select (bulk_job_id) on mirror.bulk_research_jobs_live to ${ofColumn.name};
    create schema own authorization ${ofOwnView.name};
    grant usage on schema own to ${ofView.name}`);
  await ofOwnView.run('create view own.lists as select * from mirror.lists_live');
  await ofOwnView.run(`grant select on own.lists to ${ofView.name}`);
  await upgrade();
  for (const [name, key] of [
    ['account', ''],
    ['bulk_research_jobs', 'bulk_job_id, '],
  ])
    await run(`insert into mirror.${name}_history
        (_user_id, ${key}_change_id, _first_seen_at, _changed_at, _valid_from, _valid_to, _op, _raw, _hash)
      select _user_id, ${key}1, now(), now(), now(), now(), 'update', '{}', _hash from mirror.${name} where _user_id = 1002 limit 1`);
  await run(`insert into mirror.quarantine (_user_id, collection, parent, place, key, item_hash, item, bytes, kept, reason, first_seen_at, last_seen_at)
    select _user_id, 'lists', '', '', list_id::text, '\\x01', '{}', 2, true, 'refused', now(), now()
    from mirror.lists where _user_id = 1002 and _deleted_at is null limit 1`);
  await run(`insert into mirror.forgotten values (1002, 'lists', '\\x00', 1, now());
    insert into mirror.operator_log (_user_id, act, arguments) values (1001, 'forget', '{}'), (1002, 'forget', '{}');
    insert into mirror._conflicts (_user_id, collection, field, conflicts, last_at) values (1002, 'lists', 'name', 1, now()) on conflict do nothing`);
  after = await lookAfterUpgrade(ofSome, ofColumn);
  await run(`alter view mirror.changes set (security_invoker = true);
    alter view mirror.bulk_research_jobs_live set (security_invoker = true)`);
  [all, one] = [await login('mirror_reader'), await login()];
  await bind(one, 1001);
  await run(`grant execute on function mirror.submit, mirror.cancel_submission to ${one.name}`);
});
afterAll(async () => {
  await run(`drop schema own cascade`);
  for (const role of roles) await role.drop();
});

async function lookAfterUpgrade(ofSome: LoginRole, ofColumn: LoginRole) {
  const early = await login();
  const columns = [
    'bulk_job_id from mirror.bulk_research_jobs_live',
    '_user_id from mirror.bulk_research_jobs_live',
    '_user_id from mirror.bulk_research_jobs',
  ];
  return {
    /** Rows of `changes` that a reader of some tables sees. */
    changesOfSome: await ofSome.run('select distinct collection from mirror.changes'),
    /** Whether a reader of one column of a view gets that column, another one, the table. */
    columnOfSome: await Promise.all(
      columns.map(async (text) => (await ofColumn.run(`select ${text}`).catch(() => [])).length > 0),
    ),
    /** Views that the upgrade left with their owner's rights. */
    keptAsOwner: await run(`select relname from pg_class
      where relnamespace = 'mirror'::regnamespace and relkind = 'v' and reloptions is null order by 1`),
    bound: await bind(early, 1001),
    /** What a bound login gets of `changes`, and the answer to binding it again after it was granted the view. */
    changesOfEarly: await early.run('select from mirror.changes').catch(messageOf),
    granted: await run(`grant select on mirror.changes to ${early.name}`),
    boundWithChanges: await bind(early, 1001).catch(messageOf),
  };
}

/** Everything in the schema of which the login may read something, and whether it has a column with the account. */
const readable = (role: LoginRole) =>
  run<{ name: string; ofAccount: boolean }>(`
    select c.relname as name, exists (
      select from pg_attribute a where a.attrelid = c.oid and a.attname = '_user_id') as "ofAccount"
    from pg_class c where c.relnamespace = 'mirror'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and has_any_column_privilege('${role.name}', c.oid, 'select')
    order by c.relname collate "C"`);

/** Whether the login reads rows of other accounts than 1001. */
const readsForeign = async (role: LoginRole, name: string): Promise<boolean> =>
  (await role.run(`select from mirror.${name} r where (to_jsonb(r) ->> '_user_id')::bigint <> 1001 limit 1`)).length >
  0;

describe('a login that is bound to one account', () => {
  it('reads no row of another one, in any relation that it reaches', async () => {
    const relations = await readable(one);
    expect(relations).toEqual(await readable(all));
    const leaks: string[] = [];
    const unproven: string[] = [];
    for (const { name } of relations.filter(({ ofAccount }) => ofAccount)) {
      if (await readsForeign(one, name)) leaks.push(name);
      if (!(await readsForeign(all, name))) unproven.push(name);
    }
    expect(leaks).toEqual([]);
    // If a reader of everything finds no row of others either, the result proves nothing.
    expect(unproven).toEqual([]);
    // Not of an account: which fields there are, and what happened to the database.
    expect(relations.filter(({ ofAccount }) => !ofAccount).map(({ name }) => name)).toEqual([
      '_columns',
      'columns',
      'recoveries',
    ]);
    const own = await one.run('select count(*)::int as n from mirror.lists_live');
    expect(own).toEqual(await all.run('select count(*)::int as n from mirror.lists_live where _user_id = 1001'));
    expect(own).not.toEqual([{ n: 0 }]);
  });

  it('gets no row of another one from any function that it may call', async () => {
    const [list] = await run<{ key: string }>(
      'select list_id::text as key from mirror.lists where _user_id = 1002 limit 1',
    );
    const functions = await run<{ name: string; types: string[]; definer: boolean }>(`
      select p.proname as name, array(select format_type(t, null) from unnest(p.proargtypes) with ordinality as x (t, n) order by n) as types,
        p.prosecdef as definer
      from pg_proc p where p.pronamespace = 'mirror'::regnamespace and has_function_privilege('${one.name}', p.oid, 'execute')
      order by 1`);
    const given: Record<string, string> = {
      'timestamp with time zone': 'now()',
      jsonb: `'{}'`,
      bigint: '1000',
      text: `'lists'`,
      boolean: 'true',
      'text[]': `'{}'`,
    };
    const found: string[] = [];
    const leaks: string[] = [];
    for (const { name, types, definer } of functions) {
      if (definer) continue;
      const words =
        name === 'row_story'
          ? `1002, 'lists', '${list?.key}', 10`
          : types.map((type) => given[type] ?? 'null').join(', ');
      const call = `select to_jsonb(r)::text as row from mirror.${name}(${words}) r`;
      const [ours, everybodys] = [await one.run(call).catch(messageOf), await all.run(call).catch(messageOf)];
      if (typeof ours === 'string') expect([name, ours]).toEqual([name, everybodys]);
      const isForeign = (rows: unknown): boolean =>
        Array.isArray(rows) &&
        (name === 'row_story' ? rows.length > 0 : /_user_id\W+1002\b/.test(JSON.stringify(rows)));
      if (isForeign(ours)) leaks.push(name);
      if (isForeign(everybodys)) found.push(name);
    }
    expect(leaks).toEqual([]);
    expect(found).toEqual(
      functions.map(({ name }) => name).filter((name) => /^[a-z].*_(?:as_of|since)$|^row_story$/.test(name)),
    );
    expect(functions.filter(({ definer }) => definer).map(({ name }) => name)).toEqual(['cancel_submission', 'submit']);
  });

  it('submits and cancels only for its own account; another one is treated as missing', async () => {
    const [queued] = await run<{ id: string }>(
      `select submission_id::text as id from mirror.submissions where _user_id = 1002 and state = 'queued'`,
    );
    const forOther = `select mirror.submit('research', '{}', user_id => 1002)`;
    await expect(one.run(forOther)).rejects.toThrow('account 1002 is not mirrored here');
    await expect(one.run(`select mirror.cancel_submission(${queued?.id})`)).rejects.toThrow(
      `there is no submission ${queued?.id}`,
    );
    const [made] = await one.run(`select mirror.submit('research', '{}')::text as id`);
    const id = String(made?.['id']);
    const own = `select _user_id::text as account from mirror.submissions where submission_id = ${id}`;
    expect(await one.run(own)).toEqual([{ account: '1001' }]);
    expect(await one.run(`select mirror.cancel_submission(${id}) as done`)).toEqual([{ done: true }]);
    // The current role counts, not the login.
    const [me] = await run<{ name: string }>('select current_user as name');
    await run(`set role ${one.name}`);
    await expect(run(forOther)).rejects.toThrow('not mirrored here');
    await run(`set role ${me?.name}`);
  });

  // A policy binds the current role: after SET ROLE to a group, a member reads everything.
  it('is refused while it may become a role that reads more', async () => {
    for (const group of ['mirror_reader', 'mirror_submitter', 'pg_read_all_data']) {
      const member = await login(group);
      await expect(bind(member, 1001)).rejects.toThrow(`reads more than one account as ${group}`);
    }
    expect(
      await run(`select rolname from pg_roles
        where rolname <> '${one.name}' and pg_has_role('${one.name}', oid, 'member')`),
    ).toEqual([]);
  });

  it('is not given a view that reads with its owner’s rights', async () => {
    await run(`create view mirror.owned as select * from mirror.lists; grant select on mirror.owned to mirror_reader;
      select mirror_sync.bind_readers()`);
    await expect(one.run('select * from mirror.owned')).rejects.toThrow('permission denied');
    await run('drop view mirror.owned');
  });

  it('is bound in later tables and columns, and can be bound to another account', async () => {
    for (const name of await readdir(MIGRATIONS)) await copyFile(join(MIGRATIONS, name), join(folder.path, name));
    const later = `create table "{schema}".later (_user_id bigint primary key, note text);
      insert into "{schema}".later values (1001, 'own'), (1002, 'foreign');
      create view "{schema}".later_notes with (security_invoker = true) as select * from "{schema}".later;`;
    await writeFile(join(folder.path, '9000_later.sql'), `-- oldest program: 0.2.0\n${later}`);
    await upgrade(folder.path);
    for (const name of ['later', 'later_notes'])
      expect(await one.run(`select note from mirror.${name}`)).toEqual([{ note: 'own' }]);
    expect(await all.run('select note from mirror.later')).toHaveLength(2);
    await bind(one, 1002);
    expect(await one.run('select note from mirror.later')).toEqual([{ note: 'foreign' }]);
    expect(await one.run('select distinct _user_id::text as id from mirror.lists_versions')).toEqual([{ id: '1002' }]);
    await bind(one, 1001);
    await run(`drop view mirror.later_notes; drop table mirror.later;
      delete from mirror_sync.migration where name like '9000%'`);
  });

  it('each view of the mirror reads with its reader’s rights', async () => {
    const others = await run(`select relname from pg_class
      where relnamespace = 'mirror'::regnamespace and relkind = 'v' and not coalesce(reloptions @> '{security_invoker=true}', false) order by 1`);
    expect(others).toEqual([]);
    // Except views that a reader of before the upgrade could read without rights on their tables.
    expect(after.keptAsOwner).toEqual([{ relname: 'bulk_research_jobs_live' }, { relname: 'changes' }]);
  });
});

describe('a login that may read a view and not its tables', () => {
  it('reads the view as before the upgrade, and no content of the tables that the view hides', async () => {
    expect(await ofView.run('select * from mirror.watchlist_live')).toHaveLength(
      (await run('select from mirror.watchlist where _deleted_at is null')).length,
    );
    expect(await ofView.run('select * from mirror.data_quality')).not.toEqual([]);
    // These never showed rows of tables without the reader's rights.
    for (const name of ['companies', 'credits_daily'])
      expect(await ofView.run(`select * from mirror.${name}`)).toEqual([]);
    for (const text of [
      'select _raw from mirror.watchlist',
      'select item from mirror.quarantine',
      'select * from mirror.lists',
    ])
      await expect(ofView.run(text)).rejects.toThrow('permission denied');
  });

  it('reads in changes what it may read, also while a login is bound to an account, which is not given the view', async () => {
    expect(after.changesOfSome).toEqual([{ collection: 'lists' }]);
    expect(after.changesOfEarly).toContain('permission denied');
    expect(after.boundWithChanges).toContain('reads more than one account by the view mirror.changes');
  });

  it('reads the only column of a view that was granted', async () => {
    expect(after.columnOfSome).toEqual([true, false, false]);
  });

  it('reads a user’s own views over ours', async () => {
    const rows = await ofOwnView.run('select * from own.lists');
    expect(rows).toHaveLength((await run('select from mirror.lists where _deleted_at is null')).length);
    expect(await ofView.run('select * from own.lists')).toEqual(rows);
  });

  it('reads new columns of the view, in the transaction that makes them', async () => {
    await run('alter table mirror.watchlist add column note text; alter table mirror.lists add column note text');
    await database.db.transaction(async (trx) => {
      await takeTurn(trx);
      await extendRestoredViews(trx);
    });
    expect(Object.keys((await ofView.run('select * from mirror.watchlist_live limit 1'))[0] ?? {})).toContain('note');
    await ofView.run('select * from own.lists');
  });
});
