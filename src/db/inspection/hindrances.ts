import type { Db } from '../connection/db.ts';
import { migratedParts } from '../migrations/migrations.ts';

/** What somebody added to the mirror's tables, and what may keep rows from being written. */
export interface Hindrance {
  /** `broken`: writes are refused or lost; `warning`: they may be. */
  readonly state: 'broken' | 'warning';
  readonly what: string;
  /** What a DBA runs to take it away. */
  readonly sql: string;
}

/**
 * Triggers, rules, event triggers, replica identity, row security and unlogged tables, as the catalogue has them: the
 * mirror itself has none.
 * @param folder of the migrations
 */
export async function hindrances(db: Db, folder: string): Promise<readonly Hindrance[]> {
  const made = await migratedParts(folder);
  const tables = made.flatMap((part) => /^table \{schema\}(\S+)$/.exec(part)?.[1] ?? []);
  const { rows } = await db.sql<Hindrance>`
    with own as (
      select c.*, format('%I.%I', nspname, relname) as name from pg_class c join pg_namespace n on n.oid = relnamespace
      where nspname || '.' || relname = any(
        select ${db.schema}::text || place from unnest(${tables}::text[]) as place)),
    published as (select format('%I.%I', t.schemaname, t.tablename) as name, min(t.pubname) as publication
      from pg_publication_tables t join pg_publication p using (pubname) where pubupdate or pubdelete group by 1),
    -- Internal ones are of foreign keys; bits 4, 8, 16: insert, delete, update.
    found as (
      select 'warning' as state, format('the trigger %I of %s runs with each write, and can refuse it', tgname, name) as what,
        format('alter table %s disable trigger %I;', name, tgname) as sql
      from pg_trigger join own on own.oid = tgrelid
      where not tgisinternal and tgenabled in ('O', 'A') and tgtype::int & 28 <> 0
      union all
      select 'broken', format('the rule %I of %s takes writes away', rulename, name), format('drop rule %I on %s;', rulename, name)
      from pg_rewrite join own on own.oid = ev_class
      where ev_enabled in ('O', 'A') and ev_type in ('2', '3', '4')
      union all
      select 'warning', format('the event trigger %I runs when the mirror makes a column or migrates, and can refuse it', evtname),
        format('alter event trigger %I disable;', evtname)
      from pg_event_trigger e where evtenabled in ('O', 'A') and evtevent <> 'login'
        and (evttags is null or evttags && array['CREATE TABLE', 'ALTER TABLE', 'CREATE VIEW', 'ALTER VIEW', 'CREATE INDEX'])
        and not exists (select from pg_depend where classid = 'pg_event_trigger'::regclass and objid = e.oid and deptype = 'e')
      union all
      select case when publication is null then 'warning' else 'broken' end,
        format('%s has no replica identity: %s', name, case when publication is null
          then 'a publication would have its changes refused'
          else format('the publication %I has its changes refused', publication) end),
        format('alter table %s replica identity default;', name)
      from own left join published using (name)
      where relreplident = 'n' or relreplident = 'i' and not exists (
        select from pg_index where indrelid = own.oid and indisreplident)
      union all
      select 'broken', format('row security hides rows of %s from %I', name, current_user),
        format('alter table %s no force row level security;', name)
      from own where row_security_active(own.oid)
      union all
      select 'warning', format('%s is unlogged: a crash of the server empties it', name), format('alter table %s set logged;', name)
      from own where relpersistence = 'u')
    select * from found order by state, what`;
  return rows;
}
