import { type Kysely, sql } from 'kysely';

/** The event's body as JSON text, as it was delivered: one for each account that has an event of this ID. */
export async function eventTexts(db: Kysely<unknown>, schema: string, id: string): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select coalesce(e._verbatim, e._raw::text) as text
    from ${sql.id(`${schema}_sync`, 'account')} as a
    join ${sql.id(schema, 'events')} as e on e._user_id = a._user_id
    where e.id = ${id} order by e._user_id`.execute(db);
  return rows.map(({ text }) => text);
}
