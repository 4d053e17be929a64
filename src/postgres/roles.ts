import { sql } from 'kysely';
import type { Db } from './db.ts';

type Grantable = Awaited<ReturnType<typeof grantable>>[number];

/** What this user can grant rights on: schema, default privileges on later tables and views, relations, functions. */
async function grantable(db: Db) {
  const { rows } = await db.sql<{
    /** The name in the table of grants: `schema`, `defaults of <user>`, `relation lists`, `function submit(…)`. */
    object: string;
    kind: 'schema' | 'defaults' | 'relation' | 'function';
    /** Without schema and parameters. */
    name: string;
    /** As GRANT names it. */
    target: string;
  }>`
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

/** The objects that the role's members use. */
function forRole(all: readonly Grantable[], { calls }: GroupRole): readonly Grantable[] {
  return all.filter(({ kind, name }) => kind !== 'function' || calls.test(name));
}

/** How each kind is granted: the words before and after its targets. */
const GRANTS = [
  ['schema', 'grant usage on schema', ''],
  ['defaults', 'alter default privileges in schema', 'grant select on tables'],
  ['relation', 'grant select on', ''],
  ['function', 'grant execute on function', ''],
] as const;

/** Whether a role has any right in the schema, without functions, which migrations grant as well. */
async function hasRights(db: Db, roleId: string): Promise<boolean> {
  const { rows } = await db.sql<{ has: boolean }>`
    with own as (select oid, nspacl from pg_namespace where nspname = ${db.schema}),
      lists as (
        select nspacl as acl from own
        union all select relacl from pg_class where relnamespace = (select oid from own)
        union all select defaclacl from pg_default_acl where defaclnamespace = (select oid from own))
    select exists (select 1 from lists, aclexplode(acl) as entry where entry.grantee = ${roleId}::oid) as has`;
  return rows[0]?.has === true;
}

// Each object that a migration makes is granted to the group roles once, so that an operator's later grants and revokes
// stay. The table <schema>_sync.granted has a row for each role and object, with the role's ID at that time: null if
// there was no such role yet, another ID than now if the role was dropped and made again.

/**
 * Prepares grants for a migration, in its transaction, before it.
 * @returns the objects there are, and the roles (name to ID) to which default privileges give this user's new tables
 */
export async function beforeMigration(trx: Db) {
  await ensureTable(trx);
  const present = await grantable(trx);
  const defaults = present.filter(({ kind }) => kind === 'schema' || kind === 'defaults');
  for (const { name } of groupRoles(trx.schema)) await remember(trx, name, defaults, null);
  await grantDue(trx);
  const { rows } = await trx.sql<{ role: string; id: string }>`
    select m.role, m.role_id as id from ${trx.stateTable('granted')} m join pg_roles r on r.rolname = m.role and r.oid::text = m.role_id
    where m.object = 'defaults of ' || current_user`;
  return {
    objects: new Set(present.map(({ object }) => object)),
    covered: new Map(rows.map(({ role, id }) => [role, id])),
  };
}

/**
 * Grants what a migration has made to the existing roles, and records it for later roles. Tables and views that a role
 * got by default privileges stay as the migration left them.
 */
export async function afterMigration(trx: Db, before: Awaited<ReturnType<typeof beforeMigration>>) {
  const made = (await grantable(trx)).filter(({ object }) => !before.objects.has(object));
  for (const role of groupRoles(trx.schema)) {
    const objects = forRole(made, role);
    const relations = objects.filter(({ kind }) => kind === 'relation');
    await remember(trx, role.name, relations, before.covered.get(role.name) ?? null);
    await remember(trx, role.name, objects, null);
  }
  await grantDue(trx);
  // If logins are bound to one account, new tables are bound as well.
  const { rows } = await trx.sql<{ there: boolean }>`
    select to_regprocedure(format('%I.bind_readers()', ${trx.stateSchema}::text)) is not null as there`;
  if (rows[0]?.there === true) await trx.sql`select ${trx.stateTable('bind_readers')}()`;
}

/** Makes the roles if this user may, and gives new roles their first rights. Call in a transaction. */
export async function ensureGrants(trx: Db): Promise<void> {
  await makeRoles(trx);
  const { rows } = await trx.sql<{ owned: boolean }>`
    select pg_has_role(relowner, 'usage') as owned from pg_class
    where oid = to_regclass(format('%I.granted', ${trx.stateSchema}::text))`;
  // Only the user that migrates can grant.
  if (rows[0]?.owned === true) await grantDue(trx);
}

/** Makes the table of grants in a mirror of 0.1.0. There, missing rights of a role that has any were revoked. */
async function ensureTable(trx: Db): Promise<void> {
  const { rows } = await trx.sql<{ exists: boolean }>`
    select to_regclass(format('%I.granted', ${trx.stateSchema}::text)) is not null as exists`;
  if (rows[0]?.exists === true) return;
  await trx.sql`create table ${trx.stateTable('granted')} (
    role text not null, object text not null, role_id text, primary key (role, object))`;
  const present = await grantable(trx);
  for (const role of groupRoles(trx.schema)) {
    const id = await roleId(trx, role.name);
    const known = id !== null && (await hasRights(trx, id)) ? id : null;
    await remember(trx, role.name, forRole(present, role), known);
  }
}

async function grantDue(trx: Db): Promise<void> {
  for (const role of groupRoles(trx.schema)) {
    const id = await roleId(trx, role.name);
    if (id === null) continue;
    const { rows } = await trx.sql<{ object: string; known: string | null }>`
      select object, role_id as known from ${trx.stateTable('granted')}
      where role = ${role.name} and role_id is distinct from ${id}`;
    if (rows.length === 0) continue;
    // A role with another ID was dropped and made again, or, if it has rights, the database was restored elsewhere.
    const restored = rows.some(({ known }) => known !== null) && (await hasRights(trx, id));
    const kept = restored ? rows.filter(({ known }) => known !== null).map(({ object }) => object) : [];
    const due = new Set(rows.map(({ object }) => object).filter((object) => !kept.includes(object)));
    const granted = (await grantable(trx)).filter(({ object }) => due.has(object));
    for (const [kind, verb, rest] of GRANTS) {
      const targets = granted.filter((each) => each.kind === kind).map(({ target }) => target);
      if (targets.length === 0) continue;
      await trx.sql`${sql.raw(`${verb} ${targets.join(', ')} ${rest}`)} to ${sql.id(role.name)}`;
    }
    const current = [...kept, ...granted.map(({ object }) => object)];
    await trx.sql`update ${trx.stateTable('granted')} set role_id = ${id}
      where role = ${role.name} and object = any(${current}::text[])`;
  }
}

/** @param id null: not granted yet */
async function remember(trx: Db, role: string, objects: readonly Grantable[], id: string | null) {
  await trx.sql`insert into ${trx.stateTable('granted')} (role, object, role_id)
    select ${role}, object, ${id}::text from unnest(${objects.map(({ object }) => object)}::text[]) as object
    on conflict do nothing`;
}

type GroupRole = ReturnType<typeof groupRoles>[number];

/** The group roles (NOLOGIN). Their members read all tables and views, and call the functions with these names. */
export function groupRoles(schema: string) {
  return [
    { name: `${schema}_reader`, calls: /_as_of$|_since$|^row_story$/ },
    { name: `${schema}_submitter`, calls: /_as_of$|_since$|^row_story$|^submit$|^cancel_submission$/ },
  ];
}

/** Makes missing group roles if this user may make roles; else a DBA can. */
export async function makeRoles(db: Db): Promise<void> {
  if (!(await mayMakeRoles(db))) return;
  for (const { name } of groupRoles(db.schema)) {
    if ((await roleId(db, name)) === null) await db.sql`create role ${sql.id(name)} nologin`;
  }
}

export async function mayMakeRoles(db: Db): Promise<boolean> {
  const { rows } = await db.sql<{ may: boolean }>`
    select rolcreaterole or rolsuper as may from pg_roles where rolname = current_user`;
  return rows[0]?.may === true;
}

/** The role's ID; null: there is no such role. A role that was dropped and made again has another ID. */
export async function roleId(db: Db, name: string): Promise<string | null> {
  const { rows } = await db.sql<{ id: string }>`
    select oid::text as id from pg_roles where rolname = ${name}`;
  return rows[0]?.id ?? null;
}
