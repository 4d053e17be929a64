import { databaseTime, type Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { quotedText } from '../../db/connection/quoted.ts';
import type { CollectionName } from '../../model/collections.ts';
import { TypeRefused } from '../../model/errors.ts';
import { countConflicts } from '../rows/counters.ts';
import { dataTable, relation } from '../table.ts';
import { makeAnew } from '../views/make-anew.ts';
import { SUFFIXES, type TypeChange } from './fill-second.ts';
import { remakeFollowers } from './follow-columns.ts';

/**
 * Has the second column take the column's place, with everything that shows the column. Who writes pages by the old type
 * notices by the table's version.
 * @param unfit values that do not fit, by account: they are counted in place of those that were so far
 * @throws TypeRefused; a database error 55P03
 */
export async function putInPlace(
  trx: Db,
  change: TypeChange,
  second: string,
  unfit: ReadonlyMap<string, number>,
): Promise<void> {
  const { table, field, type } = change;
  // Views come first: who reads one has locked it, and waits for the table. Whoever held the table then, and wanted the
  // view, would never get it.
  let work: () => Promise<unknown> = async () => {
    for (const suffix of SUFFIXES) await replaceColumn(trx, change, second, suffix);
  };
  for (const view of await viewsUpon(trx, change)) {
    const inner = work;
    work = () => aroundView(trx, change, view, inner);
  }
  await work();
  const ofField = sql`collection = ${table.name} and field = ${field}`;
  await trx.sql`update ${trx.table('_columns')} set type = ${type} where ${ofField}`;
  const at = await databaseTime(trx);
  for (const [userId, count] of unfit) {
    await trx.sql`delete from ${trx.stateTable('backfill')} where _user_id = ${userId}::bigint and ${ofField}`;
    await trx.sql`delete from ${trx.table('_conflicts')} where _user_id = ${userId}::bigint and ${ofField}`;
    const scope = { userId, collection: table.name as CollectionName, parent: '' };
    if (count > 0) await countConflicts(trx, scope, new Map([[field, count]]), at);
  }
  await remakeFollowers(trx);
}

/** A view of ours that shows the column. */
interface OwnView {
  readonly oid: string;
  readonly name: string;
  /** `security_invoker=true`, … */
  readonly options: string | null;
  readonly definition: string;
}

/**
 * Our views that show the column, and are made again with it.
 * @throws TypeRefused that names what somebody built on the column, or on one of these views
 */
export async function viewsUpon(trx: Db, { table, name }: TypeChange): Promise<readonly OwnView[]> {
  const names = [`${table.name}_live`, `${table.name}_versions`, 'companies'];
  const ofColumn = sql`exists (select from pg_attribute a where a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    and a.attname = ${name} and a.attrelid in (${relation(table)}, ${relation(table, '_history')}))`;
  const { rows: views } = await trx.sql<OwnView>`
    select v.oid::text as oid, v.relname as name, array_to_string(v.reloptions, ', ') as options,
      pg_get_viewdef(v.oid) as definition
    from pg_class v
    where v.relnamespace = ${trx.schema}::regnamespace and v.relname = any(${names}) and exists (
      select from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
      where r.ev_class = v.oid and d.refclassid = 'pg_class'::regclass and ${ofColumn})`;
  const oids = sql`${views.map(({ oid }) => oid)}::oid[]`;
  const { rows } = await trx.sql<{ what: string }>`
    select case when r.rulename = '_RETURN' then pg_describe_object('pg_class'::regclass, r.ev_class, 0)
      else pg_describe_object(d.classid, d.objid, d.objsubid) end as what
    from pg_depend d left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    where d.deptype in ('n', 'a') and not coalesce(r.ev_class = any(${oids}) and r.rulename = '_RETURN', false)
      and (d.refclassid = 'pg_class'::regclass and (d.refobjid = any(${oids}) or ${ofColumn})
        or d.refclassid = 'pg_type'::regclass and d.refobjid in (
          select t.oid from pg_class c join pg_type t on t.oid = c.reltype or t.typelem = c.reltype and t.typcategory = 'A'
          where c.oid = any(${oids})))
    union
    select format('rights on column %I of table %s', a.attname, a.attrelid::regclass) from pg_attribute a
    where a.attrelid in (${relation(table)}, ${relation(table, '_history')}) and a.attname = ${name} and exists (
      -- Rights to read it come again with it.
      select from aclexplode(a.attacl) e where e.privilege_type <> 'SELECT' or e.is_grantable)
    order by 1`;
  if (rows.length === 0) return views;
  throw new TypeRefused(
    `${table.name}.${name} can't get another type while these depend on it: ${rows.map(({ what }) => what).join(', ')}. ` +
      'Keep their definitions (pg_get_viewdef, pg_get_indexdef, …), drop them, and make them again afterwards',
  );
}

/** Drops a view, does the work, and makes the view again. */
async function aroundView(
  trx: Db,
  { table }: TypeChange,
  { name, options, definition }: OwnView,
  work: () => Promise<unknown>,
): Promise<void> {
  const done = await makeAnew(trx, { ...table, name }, '', async () => {
    await work();
    if (name === 'companies') return trx.sql`select ${trx.stateTable('make_companies')}()`;
    const given = options === null ? sql`` : sql`with (${sql.raw(options)})`;
    return trx.sql`create view ${trx.table(name)} ${given} as ${sql.raw(definition)}`;
  });
  if (!done) throw new TypeRefused(`the view ${name} has what can't be made again with it: drop that first`);
}

/** Old column out, second one in. Another column comes and goes, so that the table's version rises. */
async function replaceColumn(
  trx: Db,
  { table, name }: TypeChange,
  second: string,
  suffix: string,
): Promise<void> {
  const data = dataTable(table, suffix);
  const passing = sql.id(`${second}_passing`);
  const { rows } = await trx.sql<{ text: string | null; readers: string[] }>`
    select col_description(attrelid, attnum) as text, array(
      select case e.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(e.grantee)) end
      from aclexplode(attacl) as e) as readers
    from pg_attribute where attrelid = ${relation(table, suffix)} and attname = ${name}`;
  const { text: comment = null, readers = [] } = rows[0] ?? {};
  await trx.sql`alter table ${data} drop column ${sql.id(name)}, add column ${passing} boolean`;
  await trx.sql`alter table ${data} drop column ${passing}`;
  await trx.sql`alter table ${data} rename column ${sql.id(second)} to ${sql.id(name)}`;
  const quoted = comment === null ? sql`null` : sql.raw(quotedText(comment));
  await trx.sql`comment on column ${data}.${sql.id(name)} is ${quoted}`;
  if (readers.length > 0)
    await trx.sql`grant select (${sql.id(name)}) on ${data} to ${sql.raw(readers.join(', '))}`;
}
