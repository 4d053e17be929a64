import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { relation } from '../table.ts';
import type { RetypableColumn } from './retypable-column.ts';

/**
 * What somebody built on the column, or on a view that is made anew with it, in words: `view sales.jobs`.
 * @param anew the views that are made anew: `_live`, …
 */
export async function thingsInTheWay(
  trx: Db,
  column: RetypableColumn,
  anew: readonly RawBuilder<unknown>[],
): Promise<string[]> {
  const { table, name } = column;
  const views = sql`array[${sql.join(anew)}]::oid[]`;
  const { rows } = await trx.sql<{ what: string }>`
    select distinct case when r.ev_class is not null and r.rulename = '_RETURN' then pg_describe_object('pg_class'::regclass, r.ev_class, 0)
      else pg_describe_object(d.classid, d.objid, d.objsubid) end as what
    from pg_depend d left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    where d.deptype in ('n', 'a') and not coalesce(r.ev_class = any(${views}) and r.rulename = '_RETURN', false)
      and (d.refclassid = 'pg_class'::regclass
          and (d.refobjid = any(${views}) or exists (
            select from pg_attribute a
            where a.attrelid = d.refobjid and a.attnum = d.refobjsubid and a.attname = ${name}
              and a.attrelid in (${relation(table)}, ${relation(table, '_history')})))
        or d.refclassid = 'pg_type'::regclass and d.refobjid in (
          select t.oid from pg_class c join pg_type t on t.oid = c.reltype or t.typelem = c.reltype and t.typcategory = 'A'
          where c.oid = any(${views})))
    order by 1`;
  return rows.map(({ what }) => what);
}
