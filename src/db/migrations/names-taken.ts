import type { Db } from '../connection/db.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { migratedParts } from './migrations.ts';

/** An object in one of the mirror's schemas. */
interface Present {
  /** `table`, `index`, `function`: for users. */
  readonly kind: string;
  readonly name: string;
  /** As objects.txt has it behind `{schema}`: `_sync.scope`, `.submit(text, jsonb)`. */
  readonly key: string;
  readonly owner: string;
}

/** Objects named in a message; the rest is counted. */
const NAMED = 5;

/**
 * Refuses a schema that has an object which any of the migrations makes; it may contain others
 * (MIRROR_SCHEMA=public). To be called in the transaction of the first migration, before it.
 * @param folder of the migrations
 * @param ownTable that transaction has made the migrations' table
 * @throws Unusable: what is in the way, whose it is, and the remedy
 */
export async function throwIfNamesTaken(trx: Db, folder: string, ownTable: boolean): Promise<void> {
  await throwIfClosed(trx);
  const present = (await objectsOf(trx)).filter(({ key }) => !ownTable || !OWN_TABLE.test(key));
  if (present.length === 0) return;
  const made = new Set((await migratedParts(folder)).map((part) => PLACED.exec(part)?.[1]));
  const clashes = present.filter(({ key }) => made.has(key));
  if (clashes.length === 0) return;
  const named = clashes.slice(0, NAMED).map(({ kind, name, owner }) => `the ${kind} ${name} of ${owner}`);
  const more = clashes.length > NAMED ? ` and ${clashes.length - NAMED} more` : '';
  throw new Unusable(
    `the place of the mirror is taken by something else: ${named.join(', ')}${more}. Nothing was touched; ` +
      `set MIRROR_SCHEMA to another name than "${trx.schema}" (the mirror also uses "${trx.schema}_sync"), or move them away.`,
  );
}

/** What has a name of its own in its schema. */
const PLACED = /^(?:table|view|index|function) \{schema\}(.*)$/;
/** Keys of the migrations' table and its index. */
const OWN_TABLE = /^_sync\.migration(?:_pkey)?$/;

/** @throws Unusable for a schema in which this user can make nothing */
export async function throwIfClosed(trx: Db): Promise<void> {
  const { rows } = await trx.sql<{ name: string; owner: string; user: string }>`
    select nspname as name, nspowner::regrole::text as owner, current_user::text as user from pg_namespace
    where nspname in (${trx.schema}, ${trx.stateSchema}) and not has_schema_privilege(oid, 'create, usage')`;
  const closed = rows[0];
  if (closed === undefined) return;
  throw new Unusable(
    `the schema "${closed.name}" belongs to ${closed.owner}, and ${closed.user} can make nothing in it. Nothing was touched; ` +
      `set MIRROR_SCHEMA to another name than "${trx.schema}", or as ${closed.owner}: ` +
      `grant usage, create on schema "${closed.name}" to ${closed.user}`,
  );
}

async function objectsOf(trx: Db): Promise<Present[]> {
  const { rows } = await trx.sql<Present>`
    with own as (
      select oid, nspname, substr(nspname, length(${trx.schema}) + 1) as suffix from pg_namespace
      where nspname in (${trx.schema}, ${trx.stateSchema}))
    select case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
        when 'i' then 'index' when 'I' then 'index' when 'f' then 'foreign table' when 'c' then 'type' else 'table' end as kind,
      format('%I.%I', nspname, relname) as name, format('%s.%s', suffix, relname) as key,
      relowner::regrole::text as owner
    from pg_class c join own on own.oid = relnamespace
    union all
    select 'type', format('%I.%I', nspname, typname), format('%s.%s', suffix, typname), typowner::regrole::text
    from pg_type join own on own.oid = typnamespace where typrelid = 0 and typelem = 0
    union all
    select 'function', format('%I.%I(%s)', nspname, proname, pg_get_function_identity_arguments(p.oid)),
      format('%s.%s(%s)', suffix, proname, oidvectortypes(proargtypes)), proowner::regrole::text
    from pg_proc p join own on own.oid = pronamespace
    order by 1, 2`;
  return rows;
}
