import { sql } from 'kysely';
import type { MigratedDatabase } from '../databases/migrated-database.ts';

/** The plan of a query as text, where no table may be read from its beginning to its end unless it must. */
export async function explained({ kysely }: MigratedDatabase, query: string): Promise<string> {
  return kysely.transaction().execute(async (trx) => {
    await sql`set local enable_seqscan = off`.execute(trx);
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${sql.raw(query)}`.execute(trx);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
}
