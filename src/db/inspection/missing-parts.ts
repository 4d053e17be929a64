import type { Db } from '../connection/db.ts';
import { migratedParts } from '../migrations/migrations.ts';

/** What is in the two schemas, whoever made it, in the form of objects.txt. */
export async function presentParts(db: Db): Promise<readonly string[]> {
  const { rows } = await db.sql<{ part: string }>`
    with own as (
      select oid, '{schema}' || substr(nspname, length(${db.schema}::text) + 1) as place from pg_namespace
      where nspname in (${db.schema}, ${db.stateSchema})),
    relation as (
      select c.oid, relkind = 'v' as view, place || '.' || relname as name from pg_class c
      join own on own.oid = relnamespace where relkind in ('r', 'p', 'v'))
    select 'schema ' || place as part from own
    union all
    select case when view then 'view ' else 'table ' end || name from relation
    union all
    select format('index %s.%s', place, relname) from pg_class join own on own.oid = relnamespace where relkind in ('i', 'I')
    union all
    select format('column %s.%s %s', name, attname, format_type(atttypid, atttypmod))
    from relation join pg_attribute on attrelid = relation.oid and attnum > 0 and not attisdropped
    where not view
    union all
    select format('unique %s (%s)', name, (select string_agg(pg_get_indexdef(indexrelid, k, true), ', ' order by k)
      from generate_series(1, indnkeyatts) as k))
    from relation join pg_index on indrelid = relation.oid and indisunique and indisvalid
    union all
    select format('function %s.%s(%s)', place, proname, oidvectortypes(proargtypes))
    from pg_proc join own on own.oid = pronamespace`;
  return rows.map(({ part }) => part).sort();
}

/** Parts named in a sentence; the rest is counted. */
const NAMED = 3;

/**
 * What a database with all migrations lacks of what they made, and the remedy; undefined: nothing.
 * @param folder of the migrations
 * @param views false: only what writes need
 */
export async function whatIsMissing(db: Db, folder: string, views = true): Promise<string | undefined> {
  const made = await migratedParts(folder);
  const present = new Set(await presentParts(db));
  // Of indexes the unique ones count, whatever their names.
  const needed = views ? /^(?!index )/ : /^(?!index |view )/;
  const lost = made.filter((part) => !present.has(part) && needed.test(part));
  const whole = lost.flatMap((part) => /^(?:schema|table) (.*)/.exec(part)?.[1] ?? []);
  // With a schema or table, all that is in it is missing.
  const left = lost.filter((part) => {
    const name = part.replace(/^\w+ /, '');
    return !whole.some((each) => name.startsWith(`${each}.`) || part.startsWith(`unique ${each} `));
  });
  if (left.length === 0) return undefined;
  const named = left.slice(0, NAMED).join(', ');
  const more = left.length > NAMED ? ` and ${left.length - NAMED} more` : '';
  return (
    `the mirror lacks ${named}${more}: bring it back, under its name or from a backup, since no migration ` +
    'makes it again; else mirror from the beginning into another MIRROR_SCHEMA'
  ).replaceAll('{schema}', db.schema);
}
