import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-files.ts';
import { splitStatements } from '../../../src/db/migrations/run-migrations.ts';

/** From this number on an older program may run beside the newer one: nothing that it uses goes or changes its meaning. */
const FIRST_ADDITIVE = 4;

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
export function notAdditive(name: string, text: string): string[] {
  if (Number(name.slice(0, 4)) < FIRST_ADDITIVE) return [];
  const own = new Set([...text.matchAll(/^create table (\S+)/gm)].map((match) => match[1] ?? ''));
  let end = 0;
  return splitStatements(text).flatMap(({ at, statement }) => {
    const withLead = text.slice(end, at) + statement;
    end = at + statement.length;
    return problems(statement, own, REASON.test(withLead)).map(
      (problem) => `${name}:${text.slice(0, at).split('\n').length}: ${problem}`,
    );
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
    ...DESTRUCTIVE.filter(([, pattern]) => pattern.test(sql)).map(
      ([what]) => `${what}: an older program may use it`,
    ),
    ...(addsRequired(sql) ? ['adds a column that an older program does not fill: give it a default'] : []),
    ...(reason
      ? []
      : needing.map((what) => `${what}: say in a line "-- Reason: …" why older programs can live with it`)),
  ];
}

/** Whether a column without a default must not be null. */
function addsRequired(sql: string): boolean {
  return sql
    .split(/\badd column\b/)
    .slice(1)
    .some((column) => /\bnot null\b/.test(column) && !/\bdefault\b|\bgenerated\b/.test(column));
}

/** What of all migrations is not additive. */
export function notAdditiveMigrations(): string[] {
  return readdirSync(join(ROOT, 'migrations'))
    .filter((name) => /^\d{4}_.*\.sql$/.test(name))
    .flatMap((name) => notAdditive(name, readFileSync(join(ROOT, 'migrations', name), 'utf8')));
}
