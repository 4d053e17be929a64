import type { Db } from '../../db/connection/db.ts';
import { childrenOf, type Scope } from '../../model/collections.ts';
import { type Deletion, deleteRows, fitting, rowsToDeleteAfter } from './delete-rows.ts';
import type { ChangedTable } from '../page-write.ts';
import { releaseScope } from '../quarantine/update-quarantine.ts';
import { countSuspects, forgetAllSuspects } from './save-suspects.ts';
import { ofScope } from '../table.ts';

/** What was deleted of a scope with its parent. */
export interface DeletedScope {
  readonly scope: Scope;
  readonly deleted: number;
  readonly changed: ChangedTable | undefined;
  /** No row of it is left. */
  readonly whole: boolean;
}

/** Items of one list after which its transaction ends (docs/design/deletions.md, "Lists and their items"). */
export const MOST_AT_ONCE = 50_000;

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
    const suspects = await forgetAllSuspects(trx, scope);
    await countSuspects(trx, scope, -suspects.total, -suspects.proven);
    await releaseScope(trx, scope);
    await closeScope(trx, scope, deletion.at);
  }
  return deleted;
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
