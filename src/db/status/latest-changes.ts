import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type Collection, COLLECTIONS } from '../../model/collections.ts';
import type { LatestChange } from '../../model/status/account-details.ts';

/** Rows that are shown. */
const ENTRIES = 20;

/** The account's rows that changed last, the newest first: the end of each table's index by `_change_id`. */
export async function latestChangesOf(db: Db, userId: string): Promise<LatestChange[]> {
  const parts = COLLECTIONS.map(
    (each) => sql`
      (select ${each.name}::text as collection, ${keyOf(each)} as key, t._change_id as "changeId",
        coalesce(t._deleted_at, t._changed_at) as at,
        case when t._deleted_at is not null then 'delete' when t._changed_at = t._first_seen_at then 'insert'
          else 'update' end as op
      from ${db.table(each.name)} as t where t._user_id = ${userId}::bigint
      order by t._change_id desc limit ${ENTRIES})`,
  );
  const { rows } = await db.sql<Omit<LatestChange, 'at' | 'userId'> & { at: Date }>`
    select v.* from (${sql.join(parts, sql` union all `)}) as v order by v."changeId" desc limit ${ENTRIES}`;
  return rows.map(({ at, ...row }) => ({ at: at.toISOString(), userId, ...row }));
}

/** The same over all accounts: those that changed last are asked one by one, until no other can have a newer row. */
export async function latestChanges(db: Db): Promise<LatestChange[]> {
  const { rows: accounts } = await db.sql<{ userId: string; changeId: string }>`
    select a._user_id as "userId", a.change_id as "changeId" from ${db.stateTable('account')} as a
    where a.change_id > 0 order by a.change_id desc limit ${ENTRIES}`;
  let found: LatestChange[] = [];
  for (const { userId, changeId } of accounts) {
    const oldest = found[ENTRIES - 1];
    if (oldest !== undefined && BigInt(oldest.changeId) > BigInt(changeId)) break;
    found = [...found, ...(await latestChangesOf(db, userId))]
      .toSorted((a, b) => Number(BigInt(b.changeId) - BigInt(a.changeId)))
      .slice(0, ENTRIES);
  }
  return found;
}

/** The row's key as the view `changes` has it. */
function keyOf(collection: Collection): RawBuilder<unknown> {
  if (collection.kind === 'single') return sql`t._user_id::text`;
  const key = sql.ref(`t.${collection.keyField}`);
  const { parent } = collection;
  return parent === undefined
    ? sql`${key}::text`
    : sql`concat(${sql.ref(`t.${parent.column}`)}, ':', ${key})`;
}
