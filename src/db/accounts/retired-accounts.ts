import { commitDurably, type Db } from '../connection/db.ts';
import { logAct, type Operator } from '../roles/operator-log.ts';
import { sql } from 'kysely';

/** Whether an account was retired or taken back. */
export type Retired = 'done' | 'already' | 'unknown';

/**
 * Retires an account: from now on no program mirrors it or sends for it, whatever keys it has. The token rises, as at
 * a takeover, so a daemon that owns the account can write nothing more and gives it up within seconds. Submissions
 * that wait are cancelled; data stay.
 * @param now the database's time
 * @param remove whether its data go next
 */
export function retireAccount(
  db: Db,
  userId: string,
  { now, by, remove }: { readonly now: Date; readonly by: Operator; readonly remove: boolean },
): Promise<Retired> {
  return db.transaction(async (trx) => {
    // A crash must not bring back, and send, what the user knows to be cancelled.
    await commitDurably(trx);
    const state = await lockedState(trx, userId);
    if (state === undefined) return 'unknown';
    await trx.sql`
      update ${trx.stateTable('account')} set state = 'retired', error = null, owner = null, token = token + 1
      where _user_id = ${userId}::bigint`;
    const paused = trx.mirror.updateTable('_collections').set({ paused_at: now });
    await paused.where('_user_id', '=', userId).where('paused_at', 'is', null).execute();
    const { rows } = await trx.sql<{ emptied: string[] | null }>`
      select emptied_operations as emptied from ${trx.stateTable('installation')}`;
    await trx.sql`
      update ${trx.table('submissions')} set state = 'cancelled', done_at = ${now}::timestamptz,
        payload = case when operation = any(${rows[0]?.emptied ?? []}::text[]) then '{}' else payload end
      where _user_id = ${userId}::bigint and state in ('queued', 'held')`;
    if (state === 'retired' && !remove) return 'already';
    await logAct(trx, by, { act: 'accounts retire', userId, given: { removeData: remove } });
    return state === 'retired' ? 'already' : 'done';
  });
}

/** Takes a retired account back: the next daemon that has a key of it mirrors it again. */
export function takeBack(db: Db, userId: string, by: Operator): Promise<Retired> {
  return db.transaction(async (trx) => {
    const state = await lockedState(trx, userId);
    if (state === undefined) return 'unknown';
    if (state !== 'retired') return 'already';
    await trx.state.updateTable('account').set({ state: 'active' }).where('_user_id', '=', userId).execute();
    await logAct(trx, by, { act: 'accounts retire --undo', userId, given: {} });
    return 'done';
  });
}

/** Rows that one transaction removes. */
const BATCH = 5_000;

/**
 * Removes all rows of a retired account from every table of both schemas that has a `_user_id`, a batch in each
 * transaction. Its own row and its keys' rows stay: they say that it is retired. So does what people did with it.
 * @param onRemoved called after each batch
 * @throws RangeError where the account is not retired any more
 */
export async function removeData(
  db: Db,
  userId: string,
  onRemoved: (table: string, rows: number) => void,
): Promise<void> {
  for (const table of await tablesOfAccounts(db)) {
    let removed: number;
    do {
      removed = await removeBatch(db, table, userId);
      if (removed > 0) onRemoved(`${table.schema}.${table.name}`, removed);
    } while (removed === BATCH);
  }
}

interface TableName {
  readonly schema: string;
  readonly name: string;
}

async function removeBatch(db: Db, table: TableName, userId: string): Promise<number> {
  return db.transaction(async (trx) => {
    // The lock lasts to the end: nobody takes the account back in the middle.
    if ((await lockedState(trx, userId)) !== 'retired') {
      throw new RangeError(`account ${userId} was taken back: its data are not removed any further`);
    }
    const name = sql.id(table.schema, table.name);
    const { numAffectedRows } = await trx.sql`
      delete from ${name} where _user_id = ${userId}::bigint and ctid = any(array(
        select t.ctid from ${name} as t where t._user_id = ${userId}::bigint limit ${BATCH}))`;
    return Number(numAffectedRows ?? 0);
  });
}

/** By the catalogue, without the tables of the account's own row, of its keys, and of what people did. */
async function tablesOfAccounts(db: Db): Promise<TableName[]> {
  const { rows } = await db.sql<TableName>`
    select n.nspname as schema, c.relname as name
    from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attname = '_user_id' and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition
      and (n.nspname = ${db.schema} and c.relname <> 'operator_log'
        or n.nspname = ${db.stateSchema} and c.relname not in ('account', 'api_key'))
    order by n.nspname, c.relname`;
  return rows;
}

async function lockedState(trx: Db, userId: string): Promise<string | undefined> {
  const row = await trx.state
    .selectFrom('account')
    .select('state')
    .where('_user_id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row?.state;
}
