import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { arrangeLiveViews } from '../../../../src/mirror/table-columns.ts';
import { createMigratedDatabase, databaseForEach } from '../../../support/databases/migrated-database.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const VIEW = 'other.research_jobs_live';
const ITEMS = '[{"job_id":1,"completed_at":"2026-01-03","created_at":"2026-01-02","company":"Acme","tags":[]}]';
const IN_ORDER =
  '_key _user_id job_id status company _domain created_at completed_at tags _first_seen_at _changed_at _change_id';
const APPENDED =
  '_key _user_id job_id status _first_seen_at _changed_at _change_id _domain company created_at completed_at tags';

const COLUMNS = `select attname from pg_attribute where attrelid = '${VIEW}'::regclass and attnum > 0 order by attnum`;
const columnsOf = async (): Promise<string> => (await lines(account, COLUMNS)).join(' ');

/** Ends the first load: the mirror was read completely. */
const loaded = (): Promise<unknown> =>
  account.query(`insert into other._collections (_user_id, collection, complete_as_of) values (1, 'research_jobs', now())
    on conflict (_user_id, collection) do update set complete_as_of = now()`);

const own = databaseForEach(() => createMigratedDatabase('other'));
let account: MirroredAccount;
beforeEach(async () => {
  account = await MirroredAccount.make(own, '1');
});

describe('the columns of a live view', () => {
  it('are put in order during the first load, and appended afterwards', async () => {
    await account.page('research_jobs', ITEMS);
    await account.page('research_jobs', '[{"job_id":2,"started_at":"2026-01-02"}]');
    const order = IN_ORDER.replace('created_at', 'created_at started_at');
    expect(await columnsOf()).toBe(order);
    await loaded();
    await account.page('research_jobs', '[{"job_id":3,"requested_at":"2026-01-02"}]');
    expect(await columnsOf()).toBe(`${order} requested_at`);
  });

  it('are appended if something depends on the view', async () => {
    await account.query(`create view public.mine as select * from ${VIEW}`);
    await account.page('research_jobs', ITEMS);
    expect((await columnsOf()).split(' ').toSorted()).toEqual(APPENDED.split(' ').toSorted());
    expect(await columnsOf()).toMatch(/ status _first_seen_at _changed_at _change_id /);
    expect(await account.query('select _key from public.mine')).toEqual([{ _key: '1:1' }]);
    await arrangeLiveViews(own.db);
    expect(await columnsOf()).toMatch(/ status _first_seen_at /);
    // A function that returns the view's rows depends on its type.
    await account.query(`drop view public.mine; create function public.rows() returns setof ${VIEW}
      language sql as $$ select * from ${VIEW} $$`);
    await arrangeLiveViews(own.db);
    expect(await columnsOf()).toMatch(/ status _first_seen_at /);
    await account.query('drop function public.rows()');
    await loaded();
    await arrangeLiveViews(own.db);
    expect(await columnsOf()).toBe(IN_ORDER);
  });

  it('keep their order in a view that was rebuilt by hand', async () => {
    await account.query(`create or replace view ${VIEW} as
      select _user_id::text || ':' || job_id::text as _key, _user_id, job_id, status, _first_seen_at, _changed_at, _change_id, _domain
      from other.research_jobs where _deleted_at is null and job_id > 0`);
    await account.page('research_jobs', ITEMS);
    await arrangeLiveViews(own.db);
    expect(`${await columnsOf()} company created_at completed_at tags`).toBe(APPENDED);
  });

  it('keep it if a trigger, a rule, a default or another role’s grant would be lost', async () => {
    await account.query(`alter view ${VIEW} alter column status set default 'new'`);
    await account.page('research_jobs', ITEMS);
    await arrangeLiveViews(own.db);
    expect(await columnsOf()).toMatch(/ status _first_seen_at /);
    const defaults = `select count(*) from pg_attrdef where adrelid = '${VIEW}'::regclass`;
    expect(await lines(account, defaults)).toEqual(['1']);
  });
});

it('a view whose columns are put in order keeps grants, what was revoked, comments and options', async () => {
  const [one, other] = ['one', 'other'].map((name) => `${name}_${randomBytes(4).toString('hex')}`);
  await account.query(`create role ${one}; create role ${other};
    -- What new views would get.
    alter default privileges in schema other grant select on tables to ${one};
    grant select on ${VIEW} to ${other} with grant option;
    grant select (job_id) on ${VIEW} to ${one};
    revoke select on ${VIEW} from other_reader;
    alter view ${VIEW} set (security_barrier = true);
    comment on view ${VIEW} is 'ours';
    comment on column ${VIEW}.status is 'my own words'`);
  const rights = `select relacl::text as all, (
      select string_agg(attname || attacl::text, ' ') from pg_attribute where attrelid = c.oid and attacl is not null) as columns,
    reloptions::text as options, obj_description(oid, 'pg_class') as comment,
    has_table_privilege('other_reader', oid, 'select') as reader,
    has_table_privilege('${one}', oid, 'select') as whole, has_column_privilege('${one}', oid, 'job_id', 'select') as part
    from pg_class c where oid = '${VIEW}'::regclass`;
  try {
    const before = await account.query(rights);
    expect(before).toMatchObject([{ reader: false, whole: false, part: true, comment: 'ours' }]);
    await account.page('research_jobs', ITEMS);
    expect(await columnsOf()).toBe(IN_ORDER);
    expect(await account.query(rights)).toEqual(before);
    const comments = `select attname, col_description(attrelid, attnum) from pg_attribute where attname in
      ('job_id', 'status', 'company') and attrelid::regclass::text ~ 'research_jobs_(live|versions)' order by attrelid::regclass::text, attnum`;
    const [id, company] = [
      'job_id Field "job_id" of the items: ID of the research job.',
      'company Field "company" of the items.',
    ];
    const status = `status Field "status" of the items: state of the job in the service's own word, for example completed.`;
    expect(await lines(account, comments)).toEqual([id, 'status my own words', company, id, status, company]);
  } finally {
    await account.query(`drop owned by ${one}, ${other}; drop role ${one}; drop role ${other}`);
  }
});
