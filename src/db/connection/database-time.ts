import { onlyRow, type Db } from './db.ts';

/** The time by the database's clock, which all processes share. */
export async function databaseTime(db: Db): Promise<Date> {
  return onlyRow(await db.sql<{ now: Date }>`select clock_timestamp() as now`).now;
}
