import { describe, expect, it } from 'vitest';
import { violations } from './support/sql-rules.ts';
import { allSql, sqlIn, statements } from './support/sql-statements.ts';

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

describe('the lint', () => {
  it.each([
    ['1', 'update ${own(schema, "scope")} set due_at = null where parent = ${parent}'],
    ['1', 'select token from ${own(schema, "account")} where owner = ${owner} for no key update'],
    ['3', 'merge into ${own(schema, "scope")} using x on true when matched then delete'],
    [
      '3',
      'with gone as (delete from ${own(schema, "scope")} where _user_id = 1 returning *) select * from gone',
    ],
    ['4', 'update ${own(schema, "scope")} set due_at = now() where _user_id = ${userId}'],
    [
      '4',
      'insert into ${t} (_user_id, at) values (1, null) on conflict (_user_id) do update set at = clock_timestamp()',
    ],
    ['6', 'select id from ${t} for update skip locked'],
    ['7', 'create function "{schema}".f() returns void language sql as $$ select 1 $$'],
    ['7', 'create function "{schema}".f() returns void language plpgsql as $$ begin end $$'],
    ['7', 'create trigger t after insert on "{schema}".lists execute function f()'],
    ['7', 'select pg_notify(${a}, ${b}), x from y'.replace('select', 'select 1,')],
    ['poolers', 'select pg_advisory_lock(1)'],
    ['poolers', 'set statement_timeout = 0'],
  ])('finds what breaks rule %s: %s', (rule, text) => {
    const found = violations(sqlIn({ path: 'src/x.ts', text: `await sql\`${text}\`.execute(db);` }));
    expect(found.some((line) => line.startsWith(`src/x.ts:1: ${rule}`))).toBe(true);
  });

  it('finds a chain of Kysely’s that writes without naming the account', () => {
    const text = `db.updateTable('scope').set({ due_at: null }).where('parent', '=', parent).execute()`;
    expect(violations(sqlIn({ path: 'src/x.ts', text }))).toHaveLength(1);
    expect(violations(sqlIn({ path: 'src/x.ts', text: text.replace('parent', '_user_id') }))).toEqual([]);
  });

  it('reads statements past quotes, comments and nested templates', () => {
    expect(statements(`-- a; b\nselect ';'; do $$ begin; end $$; select "x;y"`)).toHaveLength(3);
    const nested = 'sql<{ a: Array<string> }>`select ${list.map((x) => `${x}`).join()} from t`.execute(db)';
    expect(sqlIn({ path: 'x', text: nested })[0]?.text).toMatch(/ from t$/);
  });
});
