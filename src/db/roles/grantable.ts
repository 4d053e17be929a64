import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { GroupRole } from './roles.ts';

/** Something on which this user can grant rights, in the mirror's schema. */
export interface Grantable {
  /** Its name in the table of grants: `schema`, `defaults of <user>`, `relation lists`, `function submit(…)`. */
  readonly object: string;
  readonly kind: 'schema' | 'defaults' | 'relation' | 'function';
  /** Without schema and parameters. */
  readonly name: string;
  /** As GRANT names it; a schema by its name. */
  readonly target: string;
}

/** USAGE of the schema, default privileges on this user's later tables and views, each relation and function. */
export async function grantable(db: Db): Promise<readonly Grantable[]> {
  const { rows } = await db.sql<Grantable>`
    with own as (select oid, nspowner from pg_namespace where nspname = ${db.schema})
    select 'schema' as object, 'schema' as kind, '' as name, quote_ident(${db.schema}) as target from own
    where pg_has_role(nspowner, 'usage')
    union all
    select 'defaults of ' || current_user, 'defaults', '', quote_ident(${db.schema}) from own
    where has_schema_privilege(oid, 'create')
    union all
    select 'relation ' || relname, 'relation', relname, format('%I.%I', ${db.schema}::text, relname) from pg_class
    where relnamespace = (select oid from own) and relkind in ('r', 'p', 'v', 'm') and pg_has_role(relowner, 'usage')
    union all
    select format('function %s(%s)', proname, pg_get_function_identity_arguments(oid)), 'function', proname,
      oid::regprocedure::text from pg_proc
    where pronamespace = (select oid from own) and pg_has_role(proowner, 'usage')`;
  return rows;
}

/** Those that the role's members use. */
export function forRole(all: readonly Grantable[], { calls }: GroupRole): readonly Grantable[] {
  return all.filter(({ kind, name }) => kind !== 'function' || calls.test(name));
}

/** How each kind is granted: the words before and behind its targets. */
const GRANTS: readonly (readonly [Grantable['kind'], string, string])[] = [
  ['schema', 'grant usage on schema', ''],
  ['defaults', 'alter default privileges in schema', 'grant select on tables'],
  ['relation', 'grant select on', ''],
  ['function', 'grant execute on function', ''],
];

export async function grantTo(trx: Db, { name }: GroupRole, objects: readonly Grantable[]): Promise<void> {
  for (const [kind, verb, rest] of GRANTS) {
    const targets = objects.filter((each) => each.kind === kind).map(({ target }) => target);
    if (targets.length === 0) continue;
    await trx.sql`${sql.raw(`${verb} ${targets.join(', ')} ${rest}`)} to ${sql.id(name)}`;
  }
}

/** Whether a role has any right in the schema, except calls of functions: migrations grant those, too. */
export async function hasRights(db: Db, roleId: string): Promise<boolean> {
  const { rows } = await db.sql<{ has: boolean }>`
    with own as (select oid, nspacl from pg_namespace where nspname = ${db.schema}),
      lists as (
        select nspacl as acl from own
        union all select relacl from pg_class where relnamespace = (select oid from own)
        union all select defaclacl from pg_default_acl where defaclnamespace = (select oid from own))
    select exists (select 1 from lists, aclexplode(acl) as entry where entry.grantee = ${roleId}::oid) as has`;
  return rows[0]?.has === true;
}
