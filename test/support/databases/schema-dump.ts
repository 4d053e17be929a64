import type { Db } from '../../../src/postgres/db.ts';

/**
 * The two schemas of a mirror as SQL text, read from the catalogue (the embedded server brings no pg_dump): tables
 * with their columns, constraints and indexes, views, functions and comments, in a fixed order. What grows with the
 * data (columns for new fields) is not in it: it is taken of a database that was just migrated.
 */
export async function dumpSchema(db: Db): Promise<string> {
  const parts: string[] = [];
  for (const name of [db.schema, `${db.schema}_sync`]) {
    parts.push(`-- Schema ${name}`);
    for (const rowsOf of [tablesOf, viewsOf, functionsOf, commentsOf])
      parts.push(...(await rowsOf(db, name)).rows.map(({ text }) => text));
  }
  return `${parts.join('\n\n')}\n`;
}

/** Without the bodies of views: PostgreSQL 15 prints them differently from 16 and later. */
export function withoutViewBodies(dump: string): string {
  return dump.replaceAll(/^(create view \S+(?: with \([^)]*\))? as)[^;]*;/gm, '$1 …;');
}

const tablesOf = (db: Db, schema: string) => db.sql<{ text: string }>`
    select format(E'create table %s (\n%s\n)%s;%s', c.oid::regclass,
      (select string_agg('  ' || line, E',\n' order by rank, name) from (
        select 0 as rank, lpad(a.attnum::text, 5, '0') as name,
          format('%I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
            case when a.attcollation <> t.typcollation then ' collate ' || quote_ident(l.collname) else '' end,
            ' default ' || pg_get_expr(d.adbin, d.adrelid),
            case when a.attnotnull then ' not null' else '' end) as line
        from pg_attribute a
          join pg_type t on t.oid = a.atttypid
          left join pg_collation l on l.oid = a.attcollation
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        union all
        select 1, k.conname, format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid))
        -- Since PostgreSQL 18, NOT NULL is a constraint, too.
        from pg_constraint k where k.conrelid = c.oid and k.contype <> 'n') as lines),
      ' with (' || array_to_string(c.reloptions, ', ') || ')',
      (select string_agg(E'\n' || pg_get_indexdef(i.indexrelid) || ';', '' order by i.indexrelid::regclass::text)
       from pg_index i
       where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid))) as text
    from pg_class c
    where c.relnamespace = ${schema}::regnamespace and c.relkind in ('r', 'p')
    order by c.relname collate "C"`;

const viewsOf = (db: Db, schema: string) => db.sql<{ text: string }>`
    select format(E'create view %s%s as\n%s', oid::regclass, ' with (' || array_to_string(reloptions, ', ') || ')', pg_get_viewdef(oid, true)) as text
    from pg_class where relnamespace = ${schema}::regnamespace and relkind = 'v'
    order by relname collate "C"`;

const functionsOf = (db: Db, schema: string) => db.sql<{ text: string }>`
    select pg_get_functiondef(oid) || ';' as text from pg_proc where pronamespace = ${schema}::regnamespace
    order by proname collate "C", oid::regprocedure::text collate "C"`;

const commentsOf = (db: Db, schema: string) => db.sql<{ text: string }>`
    select format('comment on %s is %L;', what, description) as text from (
      select case d.objsubid
          when 0 then case c.relkind when 'v' then 'view ' else 'table ' end || c.oid::regclass
          else format('column %s.%I', c.oid::regclass, a.attname) end as what, d.description, c.relname, d.objsubid
      from pg_description d
        join pg_class c on c.oid = d.objoid and d.classoid = 'pg_class'::regclass
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid and d.objsubid > 0
      where c.relnamespace = ${schema}::regnamespace
      union all
      select 'function ' || p.oid::regprocedure, d.description, p.proname, 0
      from pg_description d join pg_proc p on p.oid = d.objoid and d.classoid = 'pg_proc'::regclass
      where p.pronamespace = ${schema}::regnamespace
      union all
      select format('schema %I', ${schema}::text), obj_description(${schema}::regnamespace, 'pg_namespace'), '', 0
    ) as comments
    order by relname collate "C", objsubid, what collate "C"`;
