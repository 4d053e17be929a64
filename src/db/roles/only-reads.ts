import type pg from 'pg';

/** PostgreSQL's own roles whose members see more of the server, and can change nothing. */
const HARMLESS = ['pg_monitor', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables'];

/**
 * What the session's user may do besides reading the mirror, itself or as any role that it may become, in words ("is
 * a superuser"). The session's user counts, since a statement can undo SET ROLE. A read-only transaction is not
 * enough: it bars writes to tables, and neither programs, files, replication slots nor signals.
 */
export async function moreThanReading(client: pg.Client, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ what: string }>(QUERY, [schema, HARMLESS]);
  return rows.map(({ what }) => what);
}

const QUERY = `
  with roles as materialized (
    select * from pg_roles where pg_has_role(session_user, oid, 'member') and (rolname <> 'pg_database_owner'
      or exists (select from pg_database where datname = current_database() and pg_has_role(session_user, datdba, 'member')))),
  schemas as materialized (select oid, nspname, nspowner, nspname <> $1 as own from pg_namespace where nspname in ($1, $1 || '_sync')),
  relations as materialized (
    select c.oid, c.relowner from pg_class c join schemas s on s.oid = c.relnamespace
    where not s.own and c.relkind in ('r', 'p', 'v', 'm', 'f')),
  functions as materialized (
    select p.oid, p.proowner, p.proname, p.prosecdef from pg_proc p join schemas s on s.oid = p.pronamespace where not s.own),
  superuser as (select exists (select from pg_roles where rolname = session_user and rolsuper) as yes)
  select 'is a superuser' as what from superuser where yes
  union all
  select what from superuser, lateral (
    select 'may become the superuser ' || rolname as what from roles where rolsuper
    union all select 'may make roles' from roles where rolcreaterole
    union all select 'may make databases' from roles where rolcreatedb
    union all select 'may replicate' from roles where rolreplication
    union all select 'is a member of ' || rolname from roles where starts_with(rolname, 'pg_') and rolname <> all($2::text[])
    union all select 'owns the schema ' || nspname from schemas where nspowner in (select oid from roles)
    union all select 'owns tables of the mirror' from relations where relowner in (select oid from roles)
    union all select 'owns functions of the mirror' from functions where proowner in (select oid from roles)
    union all select 'may create in the schema ' || nspname from schemas, roles where has_schema_privilege(roles.oid, schemas.oid, 'create')
    union all select 'may look into the schema ' || nspname from schemas, roles
      where own and has_schema_privilege(roles.oid, schemas.oid, 'usage')
    union all select 'may write tables of the mirror' from relations, roles
      where has_table_privilege(roles.oid, relations.oid, 'insert, update, delete, truncate')
        or has_any_column_privilege(roles.oid, relations.oid, 'insert, update')
    union all select 'may call ' || proname from functions, roles
      where prosecdef and has_function_privilege(roles.oid, functions.oid, 'execute')
  ) as found where not superuser.yes
  group by what order by what`;
