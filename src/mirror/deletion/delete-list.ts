import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { childrenOf, type Scope } from '../../model/collections.ts';
import { type Deletion, deleteRows, fitting, rowsToDeleteAfter } from './delete-rows.ts';
import type { ChangedTable } from '../page-write.ts';
import { releaseScope } from '../quarantine/update-quarantine.ts';
import { countSuspects, forgetAllSuspects } from './save-suspects.ts';
import { tableOf } from '../table.ts';

/** What hung on a row that goes: the rows of one scope. */
export interface GoneScope {
  readonly scope: Scope;
  readonly deleted: number;
  readonly changed: ChangedTable | undefined;
  /** Nothing of it is left. */
  readonly whole: boolean;
}

/**
 * Rows that one transaction deletes at most: change IDs of a transaction are to be visible soon (change-ids.ts), and a
 * list of millions of items would take minutes. Readers see such a list, and only such a one, shrink before it goes.
 */
export const MOST_AT_ONCE = 50_000;

/**
 * Deletes what hangs on a row of `scope` that goes: a list's items, all of them in this transaction unless they are very
 * many, and with the last of them whatever is kept of their scope, so that a list that comes back is read from its
 * beginning.
 */
export async function deleteChildren(
  trx: Db,
  { userId, collection }: Scope,
  key: string,
  deletion: Deletion,
): Promise<GoneScope[]> {
  const gone: GoneScope[] = [];
  for (const { name } of childrenOf(collection)) {
    const scope: Scope = { userId, collection: name, parent: key };
    const part = await deleteAll(trx, scope, deletion);
    gone.push(part);
    if (!part.whole) continue;
    const suspects = await forgetAllSuspects(trx, scope);
    await countSuspects(trx, scope, -suspects.total, -suspects.proven);
    await releaseScope(trx, scope);
    await closeScope(trx, scope, deletion.at);
  }
  return gone;
}

async function deleteAll(trx: Db, scope: Scope, deletion: Deletion): Promise<GoneScope> {
  const table = tableOf(trx.schema, scope.collection);
  let deleted = 0;
  let changed: ChangedTable | undefined;
  let after: string | undefined;
  for (;;) {
    const rows = fitting(await rowsToDeleteAfter(trx, table, scope, after));
    if (rows.length === 0) return { scope, deleted, changed, whole: true };
    if (deleted >= MOST_AT_ONCE) return { scope, deleted, changed, whole: false };
    changed = await deleteRows(trx, table, scope, rows, deletion);
    deleted += rows.length;
    after = rows.at(-1)?.key;
  }
}

/** Observations of a walk that is under way are fewer. */
const BEYOND_ANY_WALK = 1_000_000;

/**
 * From now on nothing is read or written of the scope, until its parent is back: then it is new. A walk that began
 * before knows of rows that are deleted now; should it go on then, it finds itself superseded.
 */
async function closeScope(trx: Db, scope: Scope, at: Date): Promise<void> {
  const here = sql`collection = ${scope.collection} and parent = ${scope.parent}`;
  await sql`
    update ${trx.stateTable('scope')}
    set gone_at = ${at}::timestamptz, memory = '{}', due_at = null, last_read_at = null, polled_at = null,
      full_at = null, complete_as_of = null, last_error = null, last_error_at = null, failures = 0, full_walk = null,
      last_obs = last_obs + ${BEYOND_ANY_WALK}::bigint
    where _user_id = ${scope.userId}::bigint and ${here}`.execute(trx);
  await sql`
    delete from ${trx.stateTable('unsettled')}
    where _user_id = ${scope.userId}::bigint and ${here}`.execute(trx);
  await sql`
    delete from ${trx.table('quarantine')}
    where _user_id = ${scope.userId}::bigint and ${here}`.execute(trx);
}
