import type { Db } from '../connection/db.ts';
import { migratedParts } from '../migrations/migrations.ts';

/** A right that this user lacks to keep the mirror, and what a DBA runs to give it. */
export interface MissingRight {
  readonly what: string;
  /** Statements, with a semicolon behind each. */
  readonly sql: string;
}

/** Objects that are named in words; the statements have all. */
const NAMED = 3;

/** What this user lacks to write the tables that are there, whoever owns them. */
const MAY_NOT_WRITE = 'may not write';

/**
 * What this user lacks to migrate and to write the mirror: schemas that can't be made or used, objects of the mirror
 * that are another user's, tables that can't be written. Objects that people added beside the mirror's are theirs.
 * @param folder of the migrations
 * @param writes true: only what writes need, of tables that are there
 */
export async function missingRights(
  db: Db,
  folder: string,
  writes = false,
): Promise<readonly MissingRight[]> {
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
    select 'may make no schema in the database' as lack, '' as name,
      format('grant connect, create on database %I to %I;', current_database(), current_user) as sql
    where not has_database_privilege(current_database(), 'create') and (select count(*) < 2 from place)
    union all
    select 'can make nothing in the schema', format('%s of %s', nspname, nspowner::regrole),
      format('grant usage, create on schema %I to %I;', nspname, current_user)
    from place where not (used and made)
    union all
    select 'does not own', format('%s (of %s)', name, relowner::regrole),
      format('alter %s %s owner to %I;', case relkind when 'v' then 'view' else 'table' end, name, current_user)
    from part where not pg_has_role(relowner, 'usage')
    union all
    -- An owner may have taken rights from itself, too.
    select ${MAY_NOT_WRITE}, name, format('grant usage on schema %I to %I; grant select, insert, update, delete on %s to %I;',
      nspname, current_user, name, current_user)
    from part where relkind <> 'v' and not (used and has_table_privilege(oid, 'select')
      and has_table_privilege(oid, 'insert') and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))`;
  const lacking = Map.groupBy(rows, ({ lack }) => lack);
  return [...lacking].flatMap(([lack, all]) => {
    if (writes && lack !== MAY_NOT_WRITE) return [];
    const names = all.map(({ name }) => name).sort();
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
    const what = `${lack} ${names.slice(0, NAMED).join(', ')}${more}`.trim();
    return { what, sql: all.map(({ sql }) => sql).join(' ') };
  });
}
