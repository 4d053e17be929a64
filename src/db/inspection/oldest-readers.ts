import { sql } from 'kysely';
import { type Db, onlyRow } from '../connection/db.ts';

/** A transaction that has been open for long: vacuum keeps all that it might still see. */
export interface OldReader {
  readonly pid: number;
  readonly user: string;
  /** `application_name`; '' where it has none. */
  readonly program: string;
  readonly ageMs: number;
}

export interface OldReaders {
  /** The oldest first. */
  readonly found: readonly OldReader[];
  /** Sessions of other users, of which this one may see nothing. */
  readonly hidden: number;
}

/** Open transactions on the mirror's database that are older than `ageMs`. */
export async function oldReaders(db: Db, ageMs: number): Promise<OldReaders> {
  const sessions = sql`pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and coalesce(backend_type, 'client backend') = 'client backend'`;
  const { rows } = await db.sql<OldReader>`
    select pid, coalesce(usename, '') as user, coalesce(application_name, '') as program,
      (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as "ageMs"
    from ${sessions} and (backend_xmin is not null or backend_xid is not null or state like 'idle in transaction%')
      and xact_start < clock_timestamp() - ${ageMs} * interval '1 ms'
    order by xact_start`;
  const others = await db.sql<{ hidden: number }>`
    select count(*)::int as hidden from ${sessions} and not pg_has_role(usesysid, 'usage')
      and not pg_has_role('pg_read_all_stats', 'usage')`;
  return { found: rows, hidden: onlyRow(others).hidden };
}
