import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { databaseTime } from '../../db/connection/database-time.ts';
import { quotedText } from '../../db/connection/quoted.ts';
import type { CollectionName } from '../../model/collections.ts';
import { TypeRefused } from '../../model/errors.ts';
import { countConflicts } from '../rows/counters.ts';
import { dataTable, relation } from '../table.ts';
import { makeAnew } from '../views/make-anew.ts';
import { SUFFIXES } from './fill-second.ts';
import { remakeFollowers } from './follow-columns.ts';
import type { TypeChange } from './settable-column.ts';

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
  await withoutViews(trx, change, await viewsUpon(trx, change), async () => {
    for (const suffix of SUFFIXES) await replaceColumn(trx, change, second, suffix);
  });
  await trx.sql`
    update ${trx.table('_columns')} set type = ${type} where collection = ${table.name} and field = ${field}`;
  const at = await databaseTime(trx);
  const ofField = sql`collection = ${table.name} and field = ${field}`;
  for (const [userId, count] of unfit) {
    await trx.sql`delete from ${trx.stateTable('backfill')} where _user_id = ${userId}::bigint and ${ofField}`;
    await trx.sql`delete from ${trx.table('_conflicts')} where _user_id = ${userId}::bigint and ${ofField}`;
    const scope = { userId, collection: table.name as CollectionName, parent: '' };
    if (count > 0) await countConflicts(trx, scope, new Map([[field, count]]), at);
  }
  await remakeFollowers(trx);
}

/** A view of ours: dropped before the columns change places, and made again. */
interface OwnView {
  readonly name: string;
  readonly columns: readonly string[];
  /** `security_invoker=true`, … */
  readonly options: string | null;
  readonly definition: string;
}

/** Our views that show the column. @throws TypeRefused where something else depends on the column, or on one of these views */
export async function viewsUpon(trx: Db, change: TypeChange): Promise<readonly OwnView[]> {
  const { table, name } = change;
  const views = [`${table.name}_live`, `${table.name}_versions`, 'companies'];
  const { rows } = await trx.sql<OwnView>`
    select v.relname as name, array_to_string(v.reloptions, ', ') as options, pg_get_viewdef(v.oid) as definition,
      array(select attname::text from pg_attribute where attrelid = v.oid and attnum > 0) as columns
    from pg_class v
    where v.relnamespace = ${trx.schema}::regnamespace and v.relname = any(${views}) and exists (
      select from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
        join pg_attribute a on d.refclassid = 'pg_class'::regclass and a.attrelid = d.refobjid and a.attnum = d.refobjsubid
      where r.ev_class = v.oid and a.attrelid = ${relation(table)} and a.attname = ${name})`;
  await refuseDependents(
    trx,
    change,
    rows.map((view) => relation({ ...table, name: view.name })),
  );
  return rows;
}

/**
 * @param views our views that show the column, and are made again with it
 * @throws TypeRefused that names what somebody built on the column, or on one of these views
 */
async function refuseDependents(
  trx: Db,
  { table, name }: TypeChange,
  views: readonly RawBuilder<unknown>[],
): Promise<void> {
  const again = sql`array[${sql.join(views)}]::oid[]`;
  const tables = sql`(${relation(table)}, ${relation(table, '_history')})`;
  const { rows } = await trx.sql<{ what: string }>`
    select case when r.rulename = '_RETURN' then pg_describe_object('pg_class'::regclass, r.ev_class, 0)
      else pg_describe_object(d.classid, d.objid, d.objsubid) end as what
    from pg_depend d left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    where d.deptype in ('n', 'a') and not coalesce(r.ev_class = any(${again}) and r.rulename = '_RETURN', false)
      and (d.refclassid = 'pg_class'::regclass
          and (d.refobjid = any(${again}) or exists (
            select from pg_attribute a
            where a.attrelid = d.refobjid and a.attnum = d.refobjsubid and a.attname = ${name} and a.attrelid in ${tables}))
        or d.refclassid = 'pg_type'::regclass and d.refobjid in (
          select t.oid from pg_class c join pg_type t on t.oid = c.reltype or t.typelem = c.reltype and t.typcategory = 'A'
          where c.oid = any(${again})))
    union
    select format('rights on column %I of table %s', a.attname, a.attrelid::regclass) from pg_attribute a
    where a.attrelid in ${tables} and a.attname = ${name} and a.attacl is not null
    order by 1`;
  if (rows.length === 0) return;
  throw new TypeRefused(
    `${table.name}.${name} can't get another type while these depend on it: ${rows.map(({ what }) => what).join(', ')}. ` +
      'Keep their definitions (pg_dump --schema-only), drop them, and make them again afterwards',
  );
}

/** Drops the views, one inside the other, does the work, and makes them again. */
async function withoutViews(
  trx: Db,
  change: TypeChange,
  [first, ...others]: readonly OwnView[],
  work: () => Promise<void>,
): Promise<void> {
  if (first === undefined) return work();
  const { name, columns, options, definition } = first;
  const done = await makeAnew(trx, { ...change.table, name }, '', columns, async () => {
    await withoutViews(trx, change, others, work);
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
  const described = await trx.sql<{ text: string }>`
    select d.description as text from pg_description d join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
    where d.classoid = 'pg_class'::regclass and a.attrelid = ${relation(table, suffix)} and a.attname = ${name}`;
  await trx.sql`alter table ${data} drop column ${sql.id(name)}, add column ${passing} boolean`;
  await trx.sql`alter table ${data} drop column ${passing}`;
  await trx.sql`alter table ${data} rename column ${sql.id(second)} to ${sql.id(name)}`;
  for (const { text } of described.rows) {
    await trx.sql`comment on column ${data}.${sql.id(name)} is ${sql.raw(quotedText(text))}`;
  }
}
