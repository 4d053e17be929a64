import { Unusable } from '@research-mirror/runtime/errors';
import type { Db } from './db.ts';

/**
 * Sets, until the transaction ends, what changes how SQL is read or printed to the values that this program's SQL is
 * written for. A login, a database or a server may have others (docs/design/sql.md, "Settings of the login").
 */
export const PIN_SETTINGS = [
  'standard_conforming_strings = on',
  'array_nulls = on',
  'transform_null_equals = off',
  'quote_all_identifiers = off',
  "datestyle = 'ISO, MDY'",
  'intervalstyle = postgres',
  "timezone = 'UTC'",
  'extra_float_digits = 1',
  'bytea_output = hex',
  'gin_fuzzy_search_limit = 0',
  'exit_on_error = off',
]
  .map((setting) => `set local ${setting}`)
  .join('; ');

/**
 * What is not set for every transaction: not every PostgreSQL knows it, or triggers that a DBA made count on it.
 * @throws Unusable for a login, a database or a server that has it so that the program can't work
 */
export async function throwIfMisread(db: Db): Promise<void> {
  const { rows } = await db.sql<{ name: string; value: string; why: string; remedy: string }>`
    select name, pg_catalog.current_setting(name, true) as value, why,
      pg_catalog.format('alter role %I set %s = %s', session_user, name, instead) as remedy
    from (values
      ('search_path', '"$user", public', 'other schemas come before pg_catalog, and now() may be something else there',
        pg_catalog.strpos(pg_catalog.replace(pg_catalog.current_setting('search_path'), '"', ''), 'pg_catalog')
          operator(pg_catalog.>) 1),
      ('restrict_nonsystem_relation_kind', '''''', 'views or foreign tables can''t be read',
        pg_catalog.current_setting('restrict_nonsystem_relation_kind', true) operator(pg_catalog.<>) '')
    ) as s (name, instead, why, met) where met`;
  const [found] = rows;
  if (found === undefined) return;
  throw new Unusable(
    `the database's user has ${found.name} = ${found.value}: ${found.why}. Nothing was touched; say "${found.remedy}", then start again`,
  );
}
