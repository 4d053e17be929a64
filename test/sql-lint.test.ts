import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { allSql, sqlIn, violations } from './support/rules/sql-rules.ts';
import { readMigrations, splitStatements } from '../src/postgres/run-migrations.ts';
import { ROOT } from './support/rules/source-files.ts';

/** From this number on an older program may run beside the newer one: nothing that it uses goes or changes its meaning. */
const FIRST_ADDITIVE = 4;

/** By this line a migration is made only once no program lives that is older than its `oldest program`. */
const WAITS = /^-- waits until no older program lives$/m;

/** What takes something away from who is there already. */
const DESTRUCTIVE: readonly (readonly [string, RegExp])[] = [
  ['drops', /\bdrop (?:table|column|schema|view|function|procedure|type|sequence|owned|role|extension)\b/],
  ['renames', /\brename\b/],
  ['changes a type', /\balter (?:column )?\S+ (?:set data )?type\b/],
  ['forbids null', /\bset not null\b/],
  ['truncates', /\btruncate\b/],
];

/** What is additive in most cases, but not in all: the line above says why it is in this one. */
const NEEDS_REASON: readonly (readonly [string, RegExp])[] = [
  ['replaces', /\bcreate or replace\b/],
  ['drops', /\bdrop (?:index|constraint|default|not null|expression|trigger|policy)\b/],
  ['deletes rows', /\bdelete from\b/],
];

/** `-- Reason: …`, above a statement or in it. */
const REASON = /^\s*-- Reason: \S/m;

/** What of one migration, `0004_name.sql`, is not additive. */
function notAdditive(name: string, text: string): string[] {
  if (Number(name.slice(0, 4)) < FIRST_ADDITIVE) return [];
  const own = new Set([...text.matchAll(/^create table (\S+)/gm)].map((match) => match[1] ?? ''));
  let end = 0;
  return splitStatements(text).flatMap(({ at, statement }) => {
    const withLead = text.slice(end, at) + statement;
    end = at + statement.length;
    // The daemon's own state may go then; what analysts read stays.
    const dropsState = WAITS.test(text) && /^(?:drop|alter) \w+ "\{schema\}_sync"\.[^;]*$/.test(statement);
    const all = problems(statement, own, REASON.test(withLead));
    return all
      .filter((problem) => !(dropsState && problem.startsWith('drops:')))
      .map((problem) => `${name}:${text.slice(0, at).split('\n').length}: ${problem}`);
  });
}

/** @param own tables that the same migration makes: nobody has rows in them */
function problems(statement: string, own: ReadonlySet<string>, reason: boolean): string[] {
  const plain = statement
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toLowerCase();
  if (/^comment on\b/.test(plain)) return [];
  // What a function does when it is called is no change of the schema; what a DO block does is.
  const sql = /^create (?:or replace )?function\b/.test(plain) ? (plain.split('$$')[0] ?? '') : plain;
  const table = /^alter table (?:if exists )?(?:only )?(\S+)/.exec(sql)?.[1] ?? '';
  const columns = sql.split(/\badd column\b/).slice(1);
  const required = columns.filter((each) => /\bnot null\b/.test(each) && !/\bdefault\b|\bgenerated\b/.test(each));
  const onTable = /^create unique index .*? on (\S+)/.exec(sql)?.[1];
  const tightens =
    onTable === undefined
      ? !own.has(table) && /\badd (?:constraint\b|check\b|unique\b|primary key\b|foreign key\b)/.test(sql)
      : !own.has(onTable);
  const needing = [
    ...NEEDS_REASON.filter(([, pattern]) => pattern.test(sql)).map(([what]) => what),
    ...(tightens ? ['tightens what rows may be'] : []),
  ];
  return [
    ...DESTRUCTIVE.filter(([, pattern]) => pattern.test(sql)).map(([what]) => `${what}: an older program may use it`),
    ...required.map(() => 'adds a column that an older program does not fill: give it a default'),
    ...(reason
      ? []
      : needing.map((what) => `${what}: say in a line "-- Reason: …" why older programs can live with it`)),
  ];
}

const all = allSql();
const migrations = await readMigrations(join(ROOT, 'migrations'));

it('all SQL of migrations and sources keeps the doors to Citus, transaction poolers and BI tools open', () => {
  for (const [kind, least] of Object.entries({ migration: 50, template: 20, chain: 5 }))
    expect(all.filter((each) => each.kind === kind).length).toBeGreaterThan(least);
  expect(violations(all)).toEqual([]);
});

it('all SQL of migrations and sources revokes from everybody the functions that migrations make: EXECUTE is granted to PUBLIC by default', () => {
  const named = (statement: RegExp) =>
    all.flatMap(({ kind, text }) => (kind === 'migration' && statement.exec(text)?.[1]) || []);
  const made = named(/^create (?:or replace )?function ("\{schema\}"\.\w+)/);
  const revoked = named(/^revoke (?:execute|all) on function ("\{schema\}"\.\w+).* from public/);
  expect(made.filter((name) => !revoked.includes(name))).toEqual([]);
});

it('migrations have a number each, and state from the fourth on the oldest program that may run on what they make', () => {
  const numbers = migrations.map(({ name }) => name.slice(0, 4));
  expect(numbers).toEqual([...new Set(numbers)]);
  const stated = /^\d+\.\d+\.\d+$/;
  const silent = migrations.slice(3).filter(({ oldestProgram }) => !stated.test(oldestProgram ?? ''));
  expect(silent.map(({ name }) => name)).toEqual([]);
});

it('migrations are additive from the fourth on: in a rolling upgrade an older program runs beside the newer one', () => {
  const read = (name: string) => readFileSync(join(ROOT, 'migrations', `${name}.sql`), 'utf8');
  expect(migrations.flatMap(({ name }) => notAdditive(`${name}.sql`, read(name)))).toEqual([]);
});

it('migrations that drop wait for older programs, and raise the oldest one', () => {
  const others = new Set(migrations.filter(({ drops }) => !drops).map(({ oldestProgram }) => oldestProgram));
  const dropping = migrations.filter(({ drops }) => drops);
  expect(dropping.map(({ name }) => name)).toContain('0034_dead_state');
  expect(dropping.filter(({ oldestProgram }) => others.has(oldestProgram))).toEqual([]);
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
])('migrations that are not additive are found: %s', (statement, lead, problem) => {
  const found = new RegExp(`^0004_x.sql:${lead === '' ? 2 : 3}: ${problem}`);
  expect(notAdditive('0004_x.sql', `select 1;\n${lead}${statement};`)).toEqual([expect.stringMatching(found)]);
  expect(notAdditive('0003_x.sql', statement)).toEqual([]);
  if (lead === '') expect(notAdditive('0004_x.sql', `${REASONED}${statement};`)).toEqual([]);
});

it('migrations may drop the daemon’s own state where they wait for older programs, and nothing else', () => {
  const waits = '-- oldest program: 0.3.0\n-- waits until no older program lives\n';
  const state = 'drop table "{schema}_sync".t; alter table "{schema}_sync".u drop column a;';
  expect(notAdditive('0034_x.sql', waits + state)).toEqual([]);
  expect(notAdditive('0034_x.sql', state)).toHaveLength(2);
  const others = 'drop table "{schema}".lists; alter table "{schema}_sync".u rename a to b;';
  expect(notAdditive('0034_x.sql', waits + others)).toHaveLength(2);
});

it('migrations may add what they like, and bend what they have just made', () => {
  const text = `create table "{schema}_sync".t (a int not null);
      create unique index t_a on "{schema}_sync".t (a);
      alter table "{schema}_sync".t add constraint c check (a > 0);
      alter table "{schema}".lists add column b int not null default 0, add column c text;
      comment on column "{schema}".lists.b is 'Counts each drop table.';
      create function "{schema}".f() returns void language plpgsql as $$ begin delete from x; end $$;`;
  expect(notAdditive('0004_x.sql', text)).toEqual([]);
});

it.each([
  ['1', 'update ${db.stateTable("scope")} set due_at = null where parent = ${parent}'],
  ['1', 'select token from ${db.stateTable("account")} where owner = ${owner} for no key update'],
  ['3', 'merge into ${db.stateTable("scope")} using x on true when matched then delete'],
  ['3', 'with gone as (delete from ${t} where _user_id = 1 returning *) select * from gone'],
  ['4', 'update ${db.stateTable("scope")} set due_at = now() where _user_id = ${userId}'],
  ['4', 'insert into ${t} (_user_id, at) values (1, x) on conflict (_user_id) do update set at = clock_timestamp()'],
  ['6', 'select id from ${t} for update skip locked'],
  ['7', 'create function "{schema}".f() returns void language sql as $$ select 1 $$'],
  ['7', 'create function "{schema}".f() returns void language plpgsql as $$ begin end $$'],
  ['7', 'create trigger t after insert on "{schema}".lists execute function f()'],
  ['7', 'select 1, pg_notify(${a}, ${b}), x from y'],
  ['literals', 'comment on column ${table}.a is ${sql.lit(comment)}'],
  ['locks', 'select pg_advisory_xact_lock(1)'],
  ['names', 'select json_agg(d) from (select 1 as a) as d'],
  ['poolers', 'set statement_timeout = 0'],
])('the lint finds what breaks rule %s: %s', (rule, text) => {
  for (const call of [`sql\`${text}\`.execute(db)`, `db.sql<Row>\`${text}\``]) {
    const found = violations(sqlIn({ path: 'src/x.ts', text: `await ${call};` }));
    expect(found.some((line) => line.startsWith(`src/x.ts:1: ${rule}`))).toBe(true);
  }
});

it('the lint finds a chain of Kysely’s that writes without naming the account', () => {
  const text = `db.updateTable('scope').set({ due_at: null }).where('parent', '=', parent).execute()`;
  expect(violations(sqlIn({ path: 'src/x.ts', text }))).toHaveLength(1);
  expect(violations(sqlIn({ path: 'src/x.ts', text: text.replace('parent', '_user_id') }))).toEqual([]);
});

it('the lint reads statements past quotes, comments and nested templates', () => {
  expect(splitStatements(`-- a; b\nselect ';'; do $$ begin; end $$; select "x;y"`)).toHaveLength(3);
  const nested = 'sql<{ a: Array<string> }>`select ${list.map((x) => `${x}`).join()} from t`.execute(db)';
  expect(sqlIn({ path: 'x', text: nested })[0]?.text).toMatch(/ from t$/);
});
