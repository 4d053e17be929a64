import { sql, type Kysely } from 'kysely';

/**
 * Takes `count` change IDs of the account, under its fence: they rise in commit order and are unique per account
 * (design 7, step 4).
 * @returns the ID before the first one
 */
export async function takeChangeIds(
  trx: Kysely<unknown>,
  schema: string,
  userId: string,
  count: number,
): Promise<bigint> {
  const { rows } = await sql<{ change_id: string }>`
    update ${sql.id(`${schema}_sync`, 'account')} set change_id = change_id + ${count}::bigint
    where _user_id = ${userId}::bigint returning change_id`.execute(trx);
  const last = rows[0]?.change_id;
  if (last === undefined) throw new Error(`account ${userId} has no row`);
  return BigInt(last) - BigInt(count);
}
