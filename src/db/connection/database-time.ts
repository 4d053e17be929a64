import type { Db } from './db.ts';

/** The database's clock: the one that all processes share. */
export async function databaseTime(db: Db): Promise<Date> {
  const { rows } = await db.sql<{ now: Date }>`select clock_timestamp() as now`;
  if (rows[0] === undefined) throw new RangeError('a select without from gave no row');
  return rows[0].now;
}
