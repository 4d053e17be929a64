/** Carries out proven deletions in parts: asks the brake, sets refused rows aside. One part: delete-rows.ts. */

import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Db } from '../postgres/db.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { logAct, type Operator } from '../postgres/operator-log.ts';
import { childrenOf, type CollectionName, type Scope } from '../model/collections.ts';
import {
  deleteChildren,
  type DeletedScope,
  deleteRows,
  type Deletion,
  fitting,
  isBlocked,
  MAX_ROWS,
  NotDeleted,
  rowsToDelete,
  type RowToDelete,
} from './delete-rows.ts';
import type { TableChange } from '../postgres/notifications.ts';
import { reasonOf } from './write-carefully.ts';
import { countSuspects, forgetSuspects } from './suspect-store.ts';
import { logWalk } from './sync-log.ts';
import { throwUnlessAt } from './scope-store.ts';
import { NO_WALK_TOTALS, type RowsByCollection } from '../model/sync-events.ts';
import { ofScope } from './table.ts';

/** Most items deleted with their lists in one transaction, unless a single list has more. */
const MAX_ITEMS = 5_000;

/** Cost of a list without items, in items. */
const LIST_COST = 50;

/**
 * Lifetime of a suspected return, in grace periods: if the row was not seen again by then, the page was stale
 * (docs/design/deletions.md, "Returns"). The row is reread sooner than that.
 */
export const BELIEVED_WITHIN = 10;

/** Most refused rows of one call; the next call begins with the rest. */
const MOST_REFUSED = 200;

/** Postgres refused to delete some of these rows, and the transaction was rolled back. */
class DeletionRefused extends Error {
  readonly keys: readonly string[];

  constructor(keys: readonly string[], cause: unknown) {
    super(reasonOf(cause), { cause });
    this.keys = keys;
  }
}

export interface DeletionResult {
  /** Rows of the scope's own collection that were deleted. */
  readonly deleted: number;
  /** Rows of other collections that were deleted with them. */
  readonly along: RowsByCollection;
  /** Proven deletions of the scope that the brake blocks. */
  readonly blocked: number;
  /** For NOTIFY after the commits. */
  readonly changed: readonly TableChange[];
}

/** Result of one transaction. `left`: remaining proven suspects; `idle`: there was nothing to try. */
type DeletedPart = Omit<DeletionResult, 'blocked'> & { left: number; blocked: boolean; idle: boolean };

/**
 * Deletes the scope's proven suspects unless the brake blocks that. Each part is a fenced transaction that asks the
 * brake itself, so statements are short and a stop in between loses nothing.
 *
 * Postgres may refuse rows because of a foreign key, a constraint or a trigger. A refused part is halved until such a
 * row stands alone; its suspicion then has the reason, and all other rows are deleted.
 * @param accept who lifts the brake; these deletions do not count towards the brake afterwards
 * @param obs number of the scope's last committed observation as its reader knows it
 * @throws Superseded, DatabaseWentBack
 */
export async function applyDeletions(
  db: Db,
  options: Readonly<{ deletes: 'soft' | 'hard'; history: boolean; gracePeriodMs: number }>,
  fence: Fence,
  scope: Scope,
  { accept, obs }: { readonly accept: Operator | false; readonly obs: number },
): Promise<DeletionResult> {
  const changed = new Map<string, TableChange>();
  const along = new Map<CollectionName, number>();
  let deleted = 0;
  const refused: string[] = [];
  let most = MAX_ROWS;
  for (;;) {
    let part: DeletedPart;
    try {
      const size = refused.length < MOST_REFUSED ? most : 0;
      part = await fenced(db, fence, async (trx, at) => {
        await throwUnlessAt(trx, scope, obs);
        const before = new Date(at.getTime() - BELIEVED_WITHIN * options.gracePeriodMs);
        const { numAffectedRows: stale = 0n } = await trx.sql`
          delete from ${trx.stateTable('candidate')} as c
          where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.kind = 'returned' and c.at < ${before}`;
        await countSuspects(trx, scope, -Number(stale), 0);
        const deletion = { hard: options.deletes === 'hard', history: options.history, accepted: accept, at };
        return deletePart(trx, scope, deletion, size, refused);
      });
    } catch (error) {
      if (!(error instanceof DeletionRefused)) throw error;
      const { keys, message } = error;
      const [alone] = keys;
      most = Math.ceil(keys.length / 2);
      if (alone === undefined || keys.length > 1) continue;
      await fenced(db, fence, async (trx, at) => {
        await trx.sql`
          update ${trx.stateTable('candidate')} as c set refused = ${message}, refused_at = ${at}::timestamptz
          where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.key = ${alone}`;
      });
      refused.push(alone);
      continue;
    }
    deleted += part.deleted;
    for (const [name, rows] of part.along) along.set(name, (along.get(name) ?? 0) + rows);
    for (const each of part.changed) changed.set(each.table, each);
    if (part.idle || part.left === 0) {
      return { deleted, along, blocked: part.blocked ? part.left : 0, changed: [...changed.values()] };
    }
    most = Math.min(MAX_ROWS, 2 * most);
  }
}

/** @param except keys that have just been refused */
async function deletePart(
  trx: Db,
  scope: Scope,
  deletion: Deletion,
  most: number,
  except: readonly string[],
): Promise<DeletedPart> {
  const { rows } = await trx.sql<{ proven: number }>`
    select count(*)::float8 as proven from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.proven_at is not null`;
  const before = rows[0]?.proven ?? 0;
  const nothing = { deleted: 0, along: new Map(), changed: [], left: before, blocked: false, idle: true };
  if (before === 0) return nothing;
  if (deletion.accepted === false) {
    const blocked = await isBlocked(trx, scope, deletion.at);
    await recordBlocked(trx, scope, blocked);
    if (blocked) return { ...nothing, blocked };
  }
  const keys = await provenKeys(trx, scope, most, except);
  if (keys.length === 0) return nothing;
  try {
    return await deleteProven(trx, scope, keys, before, deletion);
  } catch (error) {
    // A temporary failure is not a refusal of a row.
    const refuses = error instanceof NotDeleted || sqlState(error) !== undefined;
    throw refuses && !(error instanceof DatabaseUnavailable) ? new DeletionRefused(keys, error) : error;
  }
}

async function deleteProven(
  trx: Db,
  scope: Scope,
  keys: readonly string[],
  before: number,
  deletion: Deletion,
): Promise<DeletedPart> {
  const { userId, collection } = scope;
  const live = await rowsToDelete(trx, scope, keys);
  const children: DeletedScope[] = [];
  const emptied: RowToDelete[] = [];
  for (const row of fitting(live)) {
    const deleted = await deleteChildren(trx, scope, row.key, deletion);
    children.push(...deleted);
    // Only the first list can have too many items for one transaction: its remaining items and its row come next.
    if (deleted.every(({ whole }) => whole)) emptied.push(row);
  }
  const changed = await deleteRows(trx, scope, emptied, deletion);

  const staying = new Set(live.filter((row) => !emptied.includes(row)).map(({ key }) => key));
  const done = keys.filter((key) => !staying.has(key));
  const forgotten = await forgetSuspects(trx, scope, done);
  const parts = [...children, { scope, deleted: emptied.length, changed }].filter((each) => each.deleted > 0);
  const { at } = deletion;
  for (const { scope: of, deleted } of parts) {
    const totals = { ...NO_WALK_TOTALS, deleted };
    await logWalk(trx, { scope: of, kind: 'deletion', startedAt: at, outcome: 'completed', totals }, at);
  }
  const along = new Map<CollectionName, number>();
  for (const { scope: items, deleted } of children) {
    if (deleted > 0) along.set(items.collection, (along.get(items.collection) ?? 0) + deleted);
  }
  if (deletion.accepted !== false) {
    // What a person has accepted does not count towards the brake.
    await trx.sql`
      delete from ${trx.stateTable('deletions')}
      where _user_id = ${userId}::bigint
        and collection = any(${[collection, ...childrenOf(collection).map(({ name }) => name)]}::text[])`;
    if (parts.length > 0) {
      const given = { collection, deleted: emptied.length, along: Object.fromEntries(along) };
      await logAct(trx, deletion.accepted, { act: 'sync --accept-deletions', userId, given });
    }
  }
  // Deferred constraints are checked here instead of at the commit.
  await trx.sql`set constraints all immediate`;
  return {
    deleted: emptied.length,
    along,
    changed: parts.flatMap((each) => each.changed ?? []),
    left: before - forgotten.proven,
    blocked: false,
    idle: false,
  };
}

/** The next proven keys in order; lists have at most `MAX_ITEMS` together, but at least one comes. */
async function provenKeys(trx: Db, scope: Scope, most: number, except: readonly string[]): Promise<string[]> {
  const children = childrenOf(scope.collection).map(({ name }) => name);
  const { rows } = await trx.sql<{ key: string; items: string }>`
    select c.key, (
      select coalesce(sum(s.live_rows), 0) from ${trx.stateTable('scope')} as s
      where s._user_id = ${scope.userId}::bigint and s.collection = any(${children}::text[]) and s.parent = c.key) as items
    from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.proven_at is not null
      and c.key <> all(${[...except]}::text[])
    order by c.refused_at nulls first, c.key limit ${most}`;
  let items = 0;
  const cost = children.length === 0 ? 0 : LIST_COST;
  const end = rows.findIndex((row) => (items += cost + Number(row.items)) > MAX_ITEMS);
  return rows.slice(0, end === -1 ? rows.length : Math.max(1, end)).map(({ key }) => key);
}

/** Updates the number of the collection's blocked deletions, which `data_quality` shows. */
async function recordBlocked(trx: Db, scope: Scope, blocked: boolean): Promise<void> {
  const { rows } = await trx.sql<{ total: string; proven: string }>`
    select count(*) as total, count(*) filter (where c.proven_at is not null) as proven
    from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and c.collection = ${scope.collection}`;
  const proven = blocked ? Number(rows[0]?.proven) : 0;
  const waiting = Number(rows[0]?.total) - proven;
  await trx.sql`
    update ${trx.table('_collections')} as c
    set held_deletions = ${proven}::bigint, waiting_deletions = ${waiting}::bigint
    where c._user_id = ${scope.userId}::bigint and c.collection = ${scope.collection}
      and (c.held_deletions <> ${proven}::bigint or c.waiting_deletions <> ${waiting}::bigint)`;
}
