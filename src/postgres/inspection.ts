import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from './db.ts';
import { migratedParts } from './run-migrations.ts';

/** All that is in the two schemas, in the form of objects.txt. */
export async function presentParts(db: Db): Promise<readonly string[]> {
  const { rows } = await db.sql<{ part: string }>`
    with own as (
      select oid, '{schema}' || substr(nspname, length(${db.schema}::text) + 1) as place from pg_namespace
      where nspname in (${db.schema}, ${db.stateSchema})),
    relation as (
      select c.oid, relkind = 'v' as view, place || '.' || relname as name from pg_class c
      join own on own.oid = relnamespace where relkind in ('r', 'p', 'v'))
    select 'schema ' || place as part from own
    union all
    select case when view then 'view ' else 'table ' end || name from relation
    union all
    select format('index %s.%s', place, relname) from pg_class join own on own.oid = relnamespace where relkind in ('i', 'I')
    union all
    select format('column %s.%s %s', name, attname, format_type(atttypid, atttypmod))
    from relation join pg_attribute on attrelid = relation.oid and attnum > 0 and not attisdropped
    where not view
    union all
    select format('unique %s (%s)', name, (select string_agg(pg_get_indexdef(indexrelid, k, true), ', ' order by k)
      from generate_series(1, indnkeyatts) as k))
    from relation join pg_index on indrelid = relation.oid and indisunique and indisvalid
    union all
    select format('function %s.%s(%s)', place, proname, oidvectortypes(proargtypes))
    from pg_proc join own on own.oid = pronamespace`;
  return rows.map(({ part }) => part).sort();
}

/** Three names, and the number of the others. */
function named(names: readonly string[]): string {
  return `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;
}

/**
 * Message: what a migrated database lacks, and the remedy; undefined: nothing.
 * @param views false: look at tables only
 */
export async function whatIsMissing(db: Db, folder: string, views = true): Promise<string | undefined> {
  const made = await migratedParts(folder);
  const present = new Set(await presentParts(db));
  // Unique indexes count by their columns, others not at all.
  const needed = views ? /^(?!index )/ : /^(?!index |view )/;
  const lost = made.filter((part) => !present.has(part) && needed.test(part));
  const whole = lost.flatMap((part) => /^(?:schema|table) (.*)/.exec(part)?.[1] ?? []);
  // A missing schema or table stands for all that is in it.
  const left = lost.filter((part) => {
    const name = part.replace(/^\w+ /, '');
    return !whole.some((each) => name.startsWith(`${each}.`) || part.startsWith(`unique ${each} `));
  });
  if (left.length === 0) return undefined;
  return (
    `the mirror lacks ${named(left)}, and no migration creates it again. ` +
    'Bring it back, under its name or from a backup, or mirror from the beginning into another MIRROR_SCHEMA'
  ).replaceAll('{schema}', db.schema);
}

/** Rights that this user lacks to write existing tables. */
const MAY_NOT_WRITE = 'may not write';

/**
 * Rights that this user lacks to migrate and write the mirror. Objects that people added are theirs.
 * @param writes true: only rights to write existing tables
 * @returns each right in words, and statements with which a DBA grants it
 */
export async function missingRights(db: Db, folder: string, writes = false) {
  const own = (await migratedParts(folder)).flatMap(
    (part) => /^(?:table|view) \{schema\}\.(\S+)$/.exec(part)?.[1] ?? [],
  );
  const { rows } = await db.sql<{ lack: string; name: string; sql: string }>`
    with place as (
      select oid, nspname, nspowner, has_schema_privilege(oid, 'usage') as used, has_schema_privilege(oid, 'create') as made
      from pg_namespace where nspname in (${db.schema}, ${db.stateSchema})),
    part as (
      select c.oid, relkind, relowner, nspname, relname, used, format('%I.%I', nspname, relname) as name
      from pg_class c join place on place.oid = relnamespace
      where relkind in ('r', 'p', 'v') and (nspname = ${db.stateSchema} or relname = any(${own}::text[])))
    select 'may not create a schema in the database' as lack, '' as name,
      format('grant connect, create on database %I to %I;', current_database(), current_user) as sql
    where not has_database_privilege(current_database(), 'create') and (select count(*) < 2 from place)
    union all
    select 'may not create anything in the schema', format('%s of %s', nspname, nspowner::regrole),
      format('grant usage, create on schema %I to %I;', nspname, current_user)
    from place where not (used and made)
    union all
    select 'does not own', format('%s (of %s)', name, relowner::regrole),
      format('alter %s %s owner to %I;', case relkind when 'v' then 'view' else 'table' end, name, current_user)
    from part where not pg_has_role(relowner, 'usage')
    union all
    -- Owners included: they may have revoked their own rights.
    select ${MAY_NOT_WRITE}, name, format('grant usage on schema %I to %I; grant select, insert, update, delete on %s to %I;',
      nspname, current_user, name, current_user)
    from part where relkind <> 'v' and not (used and has_table_privilege(oid, 'select')
      and has_table_privilege(oid, 'insert') and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))`;
  return [...Map.groupBy(rows, ({ lack }) => lack)].flatMap(([lack, all]) => {
    if (writes && lack !== MAY_NOT_WRITE) return [];
    const what = `${lack} ${named(all.map(({ name }) => name).sort())}`.trim();
    return { what, sql: all.map(({ sql }) => sql).join(' ') };
  });
}

/** Makes a table of a page's size (500 rows of 2 kB) in each tablespace of the mirror, and rolls that back. */
export async function tryWriting(db: Db): Promise<void> {
  const { rows } = await db.sql<{ tablespace: string }>`
    select distinct s.spcname as tablespace from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_database d on d.datname = current_database()
      join pg_tablespace s on s.oid = case c.reltablespace when 0 then d.dattablespace else c.reltablespace end
    where n.nspname in (${db.schema}, ${db.stateSchema}) and c.relkind in ('r', 'i')
    order by 1`;
  for (const { tablespace } of rows) {
    const table = db.stateTable(`trial_${randomUUID()}`);
    await db.transaction(async (trx) => {
      await trx.sql`savepoint trial`;
      await trx.sql`
        create table ${table} tablespace ${sql.id(tablespace)} as
        select (select string_agg(md5(random()::text || n || m), '') from generate_series(1, 60) as m) as filler
        from generate_series(1, 500) as n`;
      await trx.sql`alter table ${table} add column field text`;
      await trx.sql`rollback to savepoint trial`;
    });
  }
}
