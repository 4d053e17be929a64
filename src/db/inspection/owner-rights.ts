import { type Db, onlyRow } from '../connection/db.ts';
import { migratedParts } from '../migrations/migrations.ts';

/** A right that this user lacks to keep the mirror, and what a DBA runs to give it. */
export interface MissingRight {
  readonly what: string;
  /** Statements, with a semicolon behind each. */
  readonly sql: string;
}

/** Objects that are named in words; the statements have all. */
const NAMED = 3;

/**
 * What this user lacks to migrate and to write the mirror: schemas that can't be made or used, objects of the mirror
 * that are another user's, tables that can't be written. Objects that people added beside the mirror's are theirs.
 * @param folder of the migrations
 */
export async function missingRights(db: Db, folder: string): Promise<readonly MissingRight[]> {
  const own = await ownRelations(folder);
  return [...(await schemaRights(db)), ...(await ownership(db, own)), ...(await tableRights(db, own))];
}

/** Names of tables and views that migrations made in `<schema>`. */
async function ownRelations(folder: string): Promise<string[]> {
  return (await migratedParts(folder)).flatMap(
    (part) => /^(?:table|view) \{schema\}\.(\S+)$/.exec(part)?.[1] ?? [],
  );
}

/** CREATE on the database is needed where a DBA has not made both schemas. */
async function schemaRights(db: Db): Promise<MissingRight[]> {
  const may = onlyRow(
    await db.sql<{ create: boolean; sql: string }>`
      select has_database_privilege(current_database(), 'create') or 2 = (
          select count(*) from pg_namespace where nspname in (${db.schema}, ${db.stateSchema})) as create,
        format('grant connect, create on database %I to %I;', current_database(), current_user) as sql`,
  );
  const { rows } = await db.sql<{ name: string; owner: string; sql: string }>`
    select nspname as name, nspowner::regrole::text as owner,
      format('grant usage, create on schema %I to %I;', nspname, current_user) as sql
    from pg_namespace
    where nspname in (${db.schema}, ${db.stateSchema})
      and not (has_schema_privilege(oid, 'usage') and has_schema_privilege(oid, 'create'))
    order by nspname`;
  return [
    ...(may.create ? [] : [{ what: 'may make no schema in the database', sql: may.sql }]),
    ...rows.map(({ name, owner, sql }) => ({
      what: `can make nothing in the schema ${name} of ${owner}`,
      sql,
    })),
  ];
}

async function ownership(db: Db, own: readonly string[]): Promise<MissingRight[]> {
  const { rows } = await db.sql<{ name: string; owner: string; sql: string }>`
    select format('%I.%I', nspname, relname) as name, relowner::regrole::text as owner,
      format('alter %s %I.%I owner to %I;', case relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end,
        nspname, relname, current_user) as sql
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p', 'v') and not pg_has_role(relowner, 'usage')
      and (nspname = ${db.stateSchema} or nspname = ${db.schema} and relname = any(${own}::text[]))
    order by nspname, relname`;
  if (rows.length === 0) return [];
  const named = rows.slice(0, NAMED).map(({ name, owner }) => `${name} (of ${owner})`);
  const more = rows.length > NAMED ? ` and ${rows.length - NAMED} more` : '';
  return [{ what: `does not own ${named.join(', ')}${more}`, sql: rows.map(({ sql }) => sql).join(' ') }];
}

/** What this user lacks to write the tables that are there, whoever owns them. */
export async function missingWriteRights(db: Db, folder: string): Promise<readonly MissingRight[]> {
  return tableRights(db, await ownRelations(folder), false);
}

/** An owner may have taken rights from itself, too. @param owned only of tables that this user owns */
async function tableRights(db: Db, own: readonly string[], owned = true): Promise<MissingRight[]> {
  const { rows } = await db.sql<{ name: string; sql: string }>`
    select format('%I.%I', nspname, relname) as name,
      format('grant usage on schema %I to %I; grant select, insert, update, delete on %I.%I to %I;', nspname, current_user,
        nspname, relname, current_user) as sql
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p') and (not ${owned}::boolean or pg_has_role(relowner, 'usage'))
      and (nspname = ${db.stateSchema} or nspname = ${db.schema} and relname = any(${own}::text[]))
      and not ((${owned}::boolean or has_schema_privilege(n.oid, 'usage')) and has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
        and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'))
    order by 1`;
  if (rows.length === 0) return [];
  const named = rows.slice(0, NAMED).map(({ name }) => name);
  const more = rows.length > NAMED ? ` and ${rows.length - NAMED} more` : '';
  return [{ what: `may not write ${named.join(', ')}${more}`, sql: rows.map(({ sql }) => sql).join(' ') }];
}
