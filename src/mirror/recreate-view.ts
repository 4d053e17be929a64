import { type RawBuilder, sql } from 'kysely';
import { type Db, quotedText } from '../postgres/db.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { dataTable, relation, type Table } from './table.ts';

const DEPENDENTS_EXIST = '2BP01';

/** A right that somebody has on the view, or on one of its columns. */
interface Right {
  /** Null: on the whole view. */
  readonly column: string | null;
  /** `SELECT`, … */
  readonly privilege: string;
  /** Null: everybody. */
  readonly grantee: string | null;
  readonly grantable: boolean;
}

interface Comment {
  /** Null: of the view. */
  readonly column: string | null;
  readonly text: string;
}

/**
 * Drops a view and has it created anew, with the grants and comments that it had: what was revoked stays revoked, also
 * from roles to which default privileges give new views.
 * @returns false, and nothing is changed, where something depends on it, or where it has what could not be made again:
 * another owner, a trigger, a rule, a default, a security label, rights that somebody else than the owner gave
 */
export async function makeAnew(
  trx: Db,
  table: Table,
  suffix: string,
  create: () => Promise<unknown>,
): Promise<boolean> {
  const view = relation(table, suffix);
  if (!(await isPlain(trx, view))) return false;
  const owned = await ownRights(trx, view);
  const rights = await rightsOf(trx, view);
  const comments = await commentsOf(trx, view);
  await trx.raw('savepoint make_anew');
  try {
    await trx.sql`drop view ${dataTable(table, suffix)}`;
  } catch (error) {
    if (sqlState(error) !== DEPENDENTS_EXIST) throw error;
    await trx.raw('rollback to savepoint make_anew');
    return false;
  }
  await create();
  await giveRights(trx, dataTable(table, suffix), view, rights, owned);
  for (const { column, text } of comments) {
    if (column === null)
      await trx.sql`comment on view ${dataTable(table, suffix)} is ${sql.raw(quotedText(text))}`;
    else {
      await trx.sql`comment on column ${dataTable(table, suffix)}.${sql.id(column)} is ${sql.raw(quotedText(text))}`;
    }
  }
  await trx.raw('release savepoint make_anew');
  return true;
}

/** The view belongs to this user, and has nothing beside its query, rights and comments. */
async function isPlain(trx: Db, view: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await trx.sql<{ plain: boolean }>`
    select pg_get_userbyid(c.relowner) = current_user
      and not exists (select 1 from pg_trigger t where t.tgrelid = c.oid)
      and not exists (select 1 from pg_rewrite r where r.ev_class = c.oid and r.rulename <> '_RETURN')
      and not exists (select 1 from pg_attrdef d where d.adrelid = c.oid)
      and not exists (select 1 from pg_seclabel l where l.classoid = 'pg_class'::regclass and l.objoid = c.oid)
      and not exists (select 1 from aclexplode(c.relacl) as e where e.grantor <> c.relowner)
      and not exists (
        select 1 from pg_attribute a, aclexplode(a.attacl) as e
        where a.attrelid = c.oid and e.grantor <> c.relowner) as plain
    from pg_class c where c.oid = ${view}`;
  return rows[0]?.plain === true;
}

/** The owner's rights where somebody has set any on the view; null: those that every owner has. */
async function ownRights(trx: Db, view: RawBuilder<unknown>): Promise<readonly string[] | null> {
  const { rows } = await trx.sql<{ rights: string[] | null }>`
    select case when c.relacl is not null
      then array(select e.privilege_type from aclexplode(c.relacl) as e where e.grantee = c.relowner) end as rights
    from pg_class c where c.oid = ${view}`;
  return rows[0]?.rights ?? null;
}

/** Everybody's rights, but the owner's. */
async function rightsOf(trx: Db, view: RawBuilder<unknown>): Promise<readonly Right[]> {
  const { rows } = await trx.sql<Right>`
    select null as column, e.privilege_type as privilege, r.rolname as grantee, e.is_grantable as grantable
    from pg_class c cross join aclexplode(c.relacl) as e left join pg_roles r on r.oid = e.grantee
    where c.oid = ${view} and e.grantee <> c.relowner
    union all
    select a.attname, e.privilege_type, r.rolname, e.is_grantable
    from pg_attribute a cross join aclexplode(a.attacl) as e left join pg_roles r on r.oid = e.grantee
    where a.attrelid = ${view} and a.attnum > 0`;
  return rows;
}

async function commentsOf(trx: Db, view: RawBuilder<unknown>): Promise<readonly Comment[]> {
  const { rows } = await trx.sql<Comment>`
    select a.attname as column, d.description as text
    from pg_description d left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and d.objsubid > 0
    where d.classoid = 'pg_class'::regclass and d.objoid = ${view}`;
  return rows;
}

/** Leaves the new view with these rights and no other, whatever default privileges gave. */
async function giveRights(
  trx: Db,
  name: RawBuilder<unknown>,
  view: RawBuilder<unknown>,
  rights: readonly Right[],
  owned: readonly string[] | null,
): Promise<void> {
  for (const { grantee } of await rightsOf(trx, view)) {
    await trx.sql`revoke all on ${name} from ${roleNamed(grantee)}`;
  }
  if (owned !== null) {
    await trx.sql`revoke all on ${name} from current_user`;
    for (const each of owned) await trx.sql`grant ${sql.raw(each)} on ${name} to current_user`;
  }
  for (const { column, privilege, grantee, grantable } of rights) {
    const on = column === null ? sql`` : sql`(${sql.id(column)})`;
    const option = grantable ? sql`with grant option` : sql``;
    await trx.sql`grant ${sql.raw(privilege)} ${on} on ${name} to ${roleNamed(grantee)} ${option}`;
  }
}

function roleNamed(grantee: string | null): RawBuilder<unknown> {
  return grantee === null ? sql`public` : sql.id(grantee);
}
