import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS, testDatabase } from '../../support/databases/migrated-database.ts';
import { dumpSchema, withoutViewBodies } from '../../support/databases/schema-dump.ts';
import { tableTypes, TYPE_FILE } from '../../support/databases/table-types.ts';
import { ROOT, sourceFiles } from '../../support/rules/source-files.ts';
import { LOCAL_TABLES } from '../../support/rules/sql-rules.ts';

const database = testDatabase();

const names = async (text: string): Promise<string[]> =>
  (await database.rows<{ name: string }>(text)).map(({ name }) => name);
const dumped = readFile(join(MIGRATIONS, 'schema.sql'), 'utf8');

describe('the schema', () => {
  it('is what migrations/schema.sql says (node test/support/databases/dump-schema.ts writes it anew)', async () => {
    const written = (await dumped).replace(/^--.*\n\n/, '');
    const dump = await dumpSchema(database.db);
    const [version] = await names(`select current_setting('server_version_num') as name`);
    if (version?.startsWith('18')) expect(dump).toBe(written);
    else expect(withoutViewBodies(dump)).toBe(withoutViewBodies(written));
  });

  it('has types of the tables on which queries are built, made of migrations/schema.sql', async () => {
    const types = await readFile(join(ROOT, 'src/postgres', TYPE_FILE), 'utf8');
    const sources = sourceFiles('src').map(({ text }) => text);
    expect(types).toBe(tableTypes(await dumped, sources));
  });

  it('can be distributed by _user_id: every table of accounts has it', async () => {
    const without = await names(`
      select c.relname as name from pg_class c
      where c.relnamespace::regnamespace::text in ('mirror', 'mirror_sync') and c.relkind = 'r'
        and not exists (
          select from pg_attribute a join pg_index i on i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey)
          where a.attrelid = c.oid and a.attname = '_user_id' and a.atttypid = 'bigint'::regtype)`);
    expect(without.filter((name) => !LOCAL_TABLES.includes(name))).toEqual([]);
  });

  it('has _user_id, as bigint, first in every unique constraint of an account’s table, and no smaller key than bigint', async () => {
    const wrong = await names(`
      select i.indexrelid::regclass::text as name from pg_index i
        join pg_class c on c.oid = i.indrelid
        join pg_attribute first on first.attrelid = c.oid and first.attnum = i.indkey[0]
      where c.relnamespace::regnamespace::text in ('mirror', 'mirror_sync') and c.relname <> all('{${LOCAL_TABLES.join()}}')
        and (i.indisunique and first.attname <> '_user_id'
          or exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum = any(i.indkey)
            and a.atttypid in ('integer'::regtype, 'smallint'::regtype)))`);
    expect(wrong).toEqual([]);
  });

  it('says in a comment what each table, view and function, and each documented column, is', async () => {
    const silent = await names(`
      select c.relname as name from pg_class c
      where c.relnamespace = 'mirror'::regnamespace and c.relkind in ('r', 'v')
        and obj_description(c.oid, 'pg_class') is null
      union all
      select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        join mirror._columns d on c.relname in (d.collection, d.collection || '_history', d.collection || '_versions', d.collection || '_live')
          and (d.column_name = a.attname and d.documented or c.relname like '%\\_live' or c.relname like '%\\_versions')
      where c.relnamespace = 'mirror'::regnamespace and col_description(c.oid, a.attnum) is null
      union all
      select oid::regprocedure::text from pg_proc
      where pronamespace = 'mirror'::regnamespace and obj_description(oid, 'pg_proc') is null
      order by 1`);
    expect(silent).toEqual([]);
  });

  it('shows readers nothing that lies in the daemon’s own schema', async () => {
    const peeking = await names(`
      select distinct v.relname as name from pg_depend d
        join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
        join pg_class v on v.oid = r.ev_class
        join pg_class t on t.oid = d.refobjid and d.refclassid = 'pg_class'::regclass
      where v.relnamespace = 'mirror'::regnamespace and t.relnamespace = 'mirror_sync'::regnamespace`);
    expect(peeking).toEqual([]);
  });

  it('lets nobody but its owner execute its functions', async () => {
    const open = await names(`
      select p.oid::regprocedure::text as name from pg_proc p
      where p.pronamespace::regnamespace::text in ('mirror', 'mirror_sync')
        and has_function_privilege('public', p.oid, 'execute')`);
    expect(open).toEqual([]);
  });
});
