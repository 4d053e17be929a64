import type pg from 'pg';

/** Removes everything of an account: what was played and found right needs no room. */
export async function removeAccount(db: pg.Pool, user: string): Promise<void> {
  const { rows } = await db.query<{ name: string }>(`
    select format('%I.%I', c.table_schema, c.table_name) as name from information_schema.columns as c
    join information_schema.tables as t using (table_schema, table_name)
    where c.table_schema in ('mirror', 'mirror_sync') and c.column_name = '_user_id' and t.table_type = 'BASE TABLE'`);
  await db.query(rows.map(({ name }) => `delete from ${name} where _user_id = ${Number(user)}`).join('; '));
}
