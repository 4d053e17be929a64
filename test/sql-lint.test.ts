import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readMigrations } from '../src/db/migrations/migrations.ts';
import { notAdditive, notAdditiveMigrations } from './support/rules/additive.ts';
import { violations } from './support/rules/sql-rules.ts';
import { splitStatements } from '../src/db/migrations/run-migrations.ts';
import { ROOT } from './support/rules/source-files.ts';
import { allSql, sqlIn } from './support/rules/sql-statements.ts';

describe('all SQL of migrations and sources', () => {
  it('keeps the doors to Citus, transaction poolers and BI tools open', () => {
    const all = allSql();
    expect(all.filter(({ kind }) => kind === 'migration').length).toBeGreaterThan(50);
    expect(all.filter(({ kind }) => kind === 'template').length).toBeGreaterThan(20);
    expect(all.filter(({ kind }) => kind === 'chain').length).toBeGreaterThan(5);
    expect(violations(all)).toEqual([]);
  });

  it('revokes from everybody the functions that migrations make: EXECUTE is granted to PUBLIC by default', () => {
    const all = allSql().filter(({ kind }) => kind === 'migration');
    const made = all.flatMap(
      ({ text }) => /^create (?:or replace )?function ("\{schema\}"\.\w+)/.exec(text)?.[1] ?? [],
    );
    const revokes = /^revoke (?:execute|all) on function ("\{schema\}"\.\w+).* from public/;
    const revoked = new Set(all.map(({ text }) => revokes.exec(text)?.[1]));
    expect(made.filter((name) => !revoked.has(name))).toEqual([]);
  });
});

describe('migrations', () => {
  it('have a number each, and state from the fourth on the oldest program that may run on what they make', async () => {
    const all = await readMigrations(join(ROOT, 'migrations'));
    const numbers = all.map(({ name }) => name.slice(0, 4));
    expect(numbers).toEqual([...new Set(numbers)]);
    const silent = all.slice(3).filter(({ oldestProgram }) => !/^\d+\.\d+\.\d+$/.test(oldestProgram ?? ''));
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it('are additive from the fourth on: in a rolling upgrade an older program runs beside the newer one', () => {
    expect(notAdditiveMigrations()).toEqual([]);
  });

  const REASONED = '-- Reason: nobody uses it.\n';
  it.each([
    ['drop table "{schema}".lists', REASONED, 'drops'],
    ['alter table "{schema}".lists drop column name', REASONED, 'drops'],
    ['do $$ begin execute format(\'drop view "{schema}".%I\', v); end $$', REASONED, 'drops'],
    ['alter table "{schema}".lists rename to l', REASONED, 'renames'],
    ['alter table "{schema}".lists rename column a to b', REASONED, 'renames'],
    ['alter table "{schema}".lists alter column a type text', REASONED, 'changes a type'],
    ['alter table "{schema}".lists alter a set data type text', REASONED, 'changes a type'],
    ['alter table "{schema}".lists alter a set not null', REASONED, 'forbids null'],
    ['truncate "{schema}".lists', REASONED, 'truncates'],
    ['alter table "{schema}".lists add column a int, add column b int not null', REASONED, 'adds a column'],
    ['create or replace view "{schema}".freshness as select 1', '', 'replaces'],
    ['drop index "{schema}".lists_change', '', 'drops'],
    ['alter table "{schema}".lists drop constraint lists_check', '', 'drops'],
    ['alter table "{schema}".lists add constraint c check (a > 0)', '', 'tightens'],
    ['create unique index u on "{schema}".lists (_user_id, a)', '', 'tightens'],
    ['delete from "{schema}".lists', '', 'deletes rows'],
  ])('that are not are found: %s', (statement, lead, problem) => {
    const found = notAdditive('0004_x.sql', `select 1;\n${lead}${statement};`);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^0004_x.sql:${lead === '' ? 2 : 3}: ${problem}`));
    expect(notAdditive('0003_x.sql', statement)).toEqual([]);
    if (lead === '') expect(notAdditive('0004_x.sql', `${REASONED}${statement};`)).toEqual([]);
  });

  it('may add what they like, and bend what they have just made', () => {
    const text = `create table "{schema}_sync".t (a int not null);
      create unique index t_a on "{schema}_sync".t (a);
      alter table "{schema}_sync".t add constraint c check (a > 0);
      alter table "{schema}".lists add column b int not null default 0, add column c text;
      comment on column "{schema}".lists.b is 'Counts each drop table.';
      create function "{schema}".f() returns void language plpgsql as $$ begin delete from x; end $$;`;
    expect(notAdditive('0004_x.sql', text)).toEqual([]);
  });
});

describe('the lint', () => {
  it.each([
    ['1', 'update ${db.stateTable("scope")} set due_at = null where parent = ${parent}'],
    ['1', 'select token from ${db.stateTable("account")} where owner = ${owner} for no key update'],
    ['3', 'merge into ${db.stateTable("scope")} using x on true when matched then delete'],
    [
      '3',
      'with gone as (delete from ${db.stateTable("scope")} where _user_id = 1 returning *) select * from gone',
    ],
    ['4', 'update ${db.stateTable("scope")} set due_at = now() where _user_id = ${userId}'],
    [
      '4',
      'insert into ${t} (_user_id, at) values (1, null) on conflict (_user_id) do update set at = clock_timestamp()',
    ],
    ['6', 'select id from ${t} for update skip locked'],
    ['7', 'create function "{schema}".f() returns void language sql as $$ select 1 $$'],
    ['7', 'create function "{schema}".f() returns void language plpgsql as $$ begin end $$'],
    ['7', 'create trigger t after insert on "{schema}".lists execute function f()'],
    ['7', 'select pg_notify(${a}, ${b}), x from y'.replace('select', 'select 1,')],
    ['literals', 'comment on column ${table}.a is ${sql.lit(comment)}'],
    ['locks', 'select pg_advisory_xact_lock(1)'],
    ['names', 'select json_agg(d) from (select 1 as a) as d'],
    ['poolers', 'set statement_timeout = 0'],
  ])('finds what breaks rule %s: %s', (rule, text) => {
    for (const call of [`sql\`${text}\`.execute(db)`, `db.sql<Row>\`${text}\``]) {
      const found = violations(sqlIn({ path: 'src/x.ts', text: `await ${call};` }));
      expect(found.some((line) => line.startsWith(`src/x.ts:1: ${rule}`))).toBe(true);
    }
  });

  it('finds a chain of Kysely’s that writes without naming the account', () => {
    const text = `db.updateTable('scope').set({ due_at: null }).where('parent', '=', parent).execute()`;
    expect(violations(sqlIn({ path: 'src/x.ts', text }))).toHaveLength(1);
    expect(violations(sqlIn({ path: 'src/x.ts', text: text.replace('parent', '_user_id') }))).toEqual([]);
  });

  it('reads statements past quotes, comments and nested templates', () => {
    expect(splitStatements(`-- a; b\nselect ';'; do $$ begin; end $$; select "x;y"`)).toHaveLength(3);
    const nested = 'sql<{ a: Array<string> }>`select ${list.map((x) => `${x}`).join()} from t`.execute(db)';
    expect(sqlIn({ path: 'x', text: nested })[0]?.text).toMatch(/ from t$/);
  });
});
