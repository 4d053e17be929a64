import { type RawBuilder, sql } from 'kysely';
import { type Db, quotedText } from '../postgres/db.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { dataTable, relation, type Table } from './table.ts';

const DEPENDENTS_EXIST = '2BP01';

/**
 * Drops a view and lets `create` make it again, with the grants and comments that it had. What was revoked stays
 * revoked, even if default privileges grant it on new views.
 * @returns false, nothing changed, if something depends on the view or if it has what can't be made again: another
 *   owner, a trigger, a rule, a default, a security label, rights that were not given by the owner
 */
export async function recreateView(
  trx: Db,
  table: Table,
  suffix: string,
  create: () => Promise<unknown>,
): Promise<boolean> {
  const view = relation(table, suffix);
  const name = dataTable(table, suffix);
  // `owned`: the owner's rights; null: nobody has set any on the view, and the owner has them all.
  const { rows } = await trx.sql<{ plain: boolean; owned: string[] | null }>`
    select pg_get_userbyid(c.relowner) = current_user
      and not exists (select 1 from pg_trigger t where t.tgrelid = c.oid)
      and not exists (select 1 from pg_rewrite r where r.ev_class = c.oid and r.rulename <> '_RETURN')
      and not exists (select 1 from pg_attrdef d where d.adrelid = c.oid)
      and not exists (select 1 from pg_seclabel l where l.classoid = 'pg_class'::regclass and l.objoid = c.oid)
      and not exists (select 1 from aclexplode(c.relacl) as e where e.grantor <> c.relowner)
      and not exists (
        select 1 from pg_attribute a, aclexplode(a.attacl) as e
        where a.attrelid = c.oid and e.grantor <> c.relowner) as plain,
      case when c.relacl is not null
        then array(select e.privilege_type from aclexplode(c.relacl) as e where e.grantee = c.relowner) end as owned
    from pg_class c where c.oid = ${view}`;
  const [known] = rows;
  if (known?.plain !== true) return false;
  const rights = await rightsOf(trx, view);
  const { rows: comments } = await trx.sql<{ column: string | null; text: string }>`
    select a.attname as column, d.description as text
    from pg_description d left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and d.objsubid > 0
    where d.classoid = 'pg_class'::regclass and d.objoid = ${view}`;
  await trx.raw('savepoint recreate_view');
  try {
    await trx.sql`drop view ${name}`;
  } catch (error) {
    if (sqlState(error) !== DEPENDENTS_EXIST) throw error;
    await trx.raw('rollback to savepoint recreate_view');
    return false;
  }
  await create();
  // Default privileges may have given rights on the new view.
  for (const { grantee } of await rightsOf(trx, view)) {
    await trx.sql`revoke all on ${name} from ${roleNamed(grantee)}`;
  }
  if (known.owned !== null) {
    await trx.sql`revoke all on ${name} from current_user`;
    for (const each of known.owned) await trx.sql`grant ${sql.raw(each)} on ${name} to current_user`;
  }
  for (const { column, privilege, grantee, grantable } of rights) {
    const on = column === null ? sql`` : sql`(${sql.id(column)})`;
    const option = grantable ? sql`with grant option` : sql``;
    await trx.sql`grant ${sql.raw(privilege)} ${on} on ${name} to ${roleNamed(grantee)} ${option}`;
  }
  for (const { column, text } of comments) {
    const on = column === null ? sql`view ${name}` : sql`column ${name}.${sql.id(column)}`;
    await trx.sql`comment on ${on} is ${sql.raw(quotedText(text))}`;
  }
  await trx.raw('release savepoint recreate_view');
  return true;
}

/** All rights except the owner's. `column` null: on the whole view; `grantee` null: PUBLIC. */
async function rightsOf(trx: Db, view: RawBuilder<unknown>) {
  const { rows } = await trx.sql<
    Record<'column' | 'grantee', string | null> & { privilege: string; grantable: boolean }
  >`
    select null as column, e.privilege_type as privilege, r.rolname as grantee, e.is_grantable as grantable
    from pg_class c cross join aclexplode(c.relacl) as e left join pg_roles r on r.oid = e.grantee
    where c.oid = ${view} and e.grantee <> c.relowner
    union all
    select a.attname, e.privilege_type, r.rolname, e.is_grantable
    from pg_attribute a cross join aclexplode(a.attacl) as e left join pg_roles r on r.oid = e.grantee
    where a.attrelid = ${view} and a.attnum > 0`;
  return rows;
}

function roleNamed(grantee: string | null): RawBuilder<unknown> {
  return grantee === null ? sql`public` : sql.id(grantee);
}
