import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';

/** The event's body as JSON text, as it was delivered: one for each account that has an event of this ID. */
export async function eventTexts(db: Db, id: string): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select coalesce(e._verbatim, e._raw::text) as text
    from ${db.stateTable('account')} as a
    join ${db.table('events')} as e on e._user_id = a._user_id
    where e.id = ${id} order by e._user_id`.execute(db);
  return rows.map(({ text }) => text);
}
