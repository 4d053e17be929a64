import type { Db } from '../connection/db.ts';

/** A transaction that has tables or views locked. */
export interface LockHolder {
  /** Tells it from the next transaction of its session. */
  readonly transaction: string;
  /** null: a prepared transaction, which has none. */
  readonly pid: number | null;
  /** Schema and name, quoted where need be, in the order of their names. */
  readonly tables: readonly string[];
}

/**
 * Who has one of the tables so that a lock would have to wait, and everybody behind it. Without vacuum's own workers,
 * which give way.
 * @param names as `regclass` reads them; one that is not there is nobody's
 * @param lock `exclusive` waits for who writes or makes indexes, `access exclusive` also for who reads
 */
export async function lockHolders(
  db: Db,
  names: readonly string[],
  lock: 'exclusive' | 'access exclusive',
): Promise<readonly LockHolder[]> {
  const { rows } = await db.sql<LockHolder>`
    select l.virtualtransaction as transaction, l.pid,
      array_agg(distinct format('%I.%I', n.nspname, c.relname)) as tables
    from pg_locks l
      join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
      left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
      and l.relation = any(array(select to_regclass(name) from unnest(${names}::text[]) as name)::oid[])
      and (${lock === 'access exclusive'} or l.mode <> 'AccessShareLock')
      and (l.pid is null or a.usesysid is not null)
    group by 1, 2 order by 2, 1`;
  return rows;
}
