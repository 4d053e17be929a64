import type { Db } from '../../db/connection/db.ts';
import { childrenOf, type ListCollection, parentsOf, type Scope } from '../../model/collections.ts';
import { sql } from 'kysely';
import { type Deletion, deleteRows, fitting, rowsToDeleteAfter } from './delete-rows.ts';
import type { ChangedTable } from '../page-write.ts';
import { releaseItems } from '../quarantine/update-quarantine.ts';
import { countSuspects, forgetSuspects } from './suspect-store.ts';
import { dataTable, ofScope, tableOf, keyColumn } from '../table.ts';
import { MAX_MISSING } from '../rows/live-rows.ts';
import { hasParent } from '../rows/counters.ts';

/** What was deleted of a scope with its parent. */
export interface DeletedScope {
  readonly scope: Scope;
  readonly deleted: number;
  readonly changed: ChangedTable | undefined;
  /** No row of it is left. */
  readonly whole: boolean;
}

/** Items of one list after which its transaction ends (docs/design/deletions.md, "Lists and their items"). */
const MOST_AT_ONCE = 50_000;

/**
 * Deletes what belongs to a row that is being deleted: a list's items, all in this transaction unless they are very
 * many. With the last of them goes whatever is stored of their scope: a list that comes back is read from its
 * beginning.
 * @param key of the row, which belongs to the scope given
 */
export async function deleteChildren(
  trx: Db,
  { userId, collection }: Scope,
  key: string,
  deletion: Deletion,
): Promise<DeletedScope[]> {
  const deleted: DeletedScope[] = [];
  for (const { name } of childrenOf(collection)) {
    const scope: Scope = { userId, collection: name, parent: key };
    const part = await deleteAll(trx, scope, deletion);
    deleted.push(part);
    if (!part.whole) continue;
    await forgetSuspects(trx, scope, 'all');
    await releaseItems(trx, scope, 'all');
    await closeScope(trx, scope, deletion.at);
  }
  return deleted;
}

/**
 * Suspects live items of lists that there are not: somebody undeleted or added them. Nothing is read of such a list, so
 * full walks of the lists are the proofs: one lacked it before, and one that began later lacks it still.
 */
export async function suspectItemsOfNoList(
  trx: Db,
  userId: string,
  lists: ListCollection,
  at: Date,
): Promise<void> {
  const { name } = lists;
  const table = tableOf(trx.schema, name);
  const parents = parentsOf(lists);
  const { numAffectedRows: proven } = await trx.sql`
    update ${trx.stateTable('candidate')} as c set proven_at = ${at}::timestamptz
    where c._user_id = ${userId}::bigint and c.collection = ${name} and c.proven_at is null
      and c.at <= (
        select k.complete_as_of from ${trx.table('_collections')} as k
        where k._user_id = ${userId}::bigint and k.collection = ${parents.collection})
      and c.parent in (
        select s.parent from ${trx.stateTable('scope')} as s
        where s._user_id = ${userId}::bigint and s.collection = ${name} and s.gone_at is not null)`;
  const { numAffectedRows: added } = await trx.sql`
    insert into ${trx.stateTable('candidate')} (_user_id, collection, parent, key, kind, obs, at)
    select a._user_id, ${name}, s.parent, t.key, 'snapshot', s.last_obs, ${at}::timestamptz
    from ${trx.stateTable('account')} as a
    join ${trx.stateTable('scope')} as s on s._user_id = a._user_id and s.collection = ${name}
    cross join lateral (
      select ${keyColumn(table)}::text as key from ${dataTable(table)} as t
      where t._user_id = a._user_id and t.${sql.id(parents.column)} = s.parent::bigint and t._deleted_at is null
      offset 0) as t
    where a._user_id = ${userId}::bigint and s.gone_at is not null and s.live_rows > 0
      and not ${hasParent(trx, name, 's')}
    limit ${MAX_MISSING}
    on conflict (_user_id, collection, parent, key) do nothing`;
  await countSuspects(
    trx,
    { userId, collection: name, parent: '' },
    Number(added ?? 0n),
    Number(proven ?? 0n),
  );
}

async function deleteAll(trx: Db, scope: Scope, deletion: Deletion): Promise<DeletedScope> {
  let deleted = 0;
  let changed: ChangedTable | undefined;
  let after: string | undefined;
  for (;;) {
    const rows = fitting(await rowsToDeleteAfter(trx, scope, after));
    if (rows.length === 0) return { scope, deleted, changed, whole: true };
    if (deleted >= MOST_AT_ONCE) return { scope, deleted, changed, whole: false };
    changed = await deleteRows(trx, scope, rows, deletion);
    deleted += rows.length;
    after = rows.at(-1)?.key;
  }
}

/** More observations than any walk makes. */
const BEYOND_ANY_WALK = 1_000_000;

/**
 * Lets nothing be read or written of the scope until its parent is back; then the scope is new. A walk that began
 * before may go on then, with rows that are deleted: it finds itself superseded.
 */
async function closeScope(trx: Db, scope: Scope, at: Date): Promise<void> {
  await trx.sql`
    update ${trx.stateTable('scope')} as s
    set gone_at = ${at}::timestamptz, memory = '{}', due_at = null, last_read_at = null, polled_at = null,
      full_at = null, complete_as_of = null, last_error = null, last_error_at = null, failures = 0, full_walk = null,
      last_obs = s.last_obs + ${BEYOND_ANY_WALK}::bigint
    where s._user_id = ${scope.userId}::bigint and ${ofScope('s', scope)}`;
  await trx.sql`
    delete from ${trx.stateTable('unsettled')} as u
    where u._user_id = ${scope.userId}::bigint and ${ofScope('u', scope)}`;
}
