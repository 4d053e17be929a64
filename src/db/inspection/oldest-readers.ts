import type { Db } from '../connection/db.ts';

/** A transaction that has been open for long: vacuum keeps all that it might still see. */
export interface OldReader {
  readonly pid: number;
  readonly user: string;
  /** `application_name`; '' where it has none. */
  readonly program: string;
  readonly ageMs: number;
}

/**
 * Open transactions on the mirror's database that are older than `ageMs`, the oldest first: of other users those that
 * this one may see, all of them with pg_read_all_stats.
 */
export async function oldReaders(db: Db, ageMs: number): Promise<readonly OldReader[]> {
  const { rows } = await db.sql<OldReader>`
    select pid, coalesce(usename, '') as user, coalesce(application_name, '') as program,
      (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as "ageMs"
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and coalesce(backend_type, 'client backend') = 'client backend'
      and (backend_xmin is not null or backend_xid is not null or state like 'idle in transaction%')
      and xact_start < clock_timestamp() - ${ageMs} * interval '1 ms'
    order by xact_start`;
  return rows;
}
