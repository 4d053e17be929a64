import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { fenced } from '../../db/ownership/fenced.ts';
import { childrenOf, type CollectionName, type Scope } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { candidateInScope } from './suspects.ts';
import { deleteChildren, type GoneScope } from './delete-list.ts';
import {
  type Deletion,
  deleteRows,
  fitting,
  type RowToDelete,
  rowsToDelete,
  MAX_ROWS,
} from './delete-rows.ts';
import { clearDeletions, isBlocked } from './deletion-volume.ts';
import { logWalk } from '../scope/log-walk.ts';
import { NO_WALK_TOTALS } from '../scope/walk-end.ts';
import type { DeletionResult, MirrorOptions, RowsByCollection } from '../mirror.ts';
import type { ChangedTable } from '../page-write.ts';
import { countSuspects, forgetSuspects } from './save-suspects.ts';
import { throwUnlessAt } from '../scope/scope-row.ts';
import { tableOf } from '../table.ts';

/** Items that lists take with them in one transaction, unless a single list has more. */
const MAX_ITEMS = 5_000;

/** A list without items costs its transaction about as much as so many items. */
const LIST_COST = 50;

/**
 * Rows that were seen too soon after their deletion, and not again in so many settle times, are not back: a page was
 * stale. Sooner than that somebody reads them again (pages that prove them absent need no time).
 */
export const BELIEVED_WITHIN = 10;

/** A scope's rows in doubt. */
interface SuspectCounts {
  readonly waiting: number;
  readonly proven: number;
}

interface Part {
  /** Rows of the scope's own collection. */
  readonly deleted: number;
  /** Rows that hung on these. */
  readonly along: RowsByCollection;
  readonly changed: readonly ChangedTable[];
  readonly left: SuspectCounts;
  readonly blocked: boolean;
}

/**
 * Deletes the scope's proven candidates, unless the brake holds them: in parts, each a fenced transaction that judges
 * for itself, so that no statement is long and a stop in between loses nothing.
 * @param how.accept lifts the brake; what goes then does not count for it afterwards
 * @param how.obs the scope's last observation that is committed, as its reader knows it
 * @throws Superseded, DatabaseWentBack
 */
export async function applyDeletions(
  db: Db,
  options: Pick<MirrorOptions, 'deletes' | 'history' | 'gracePeriodMs'>,
  fence: Fence,
  scope: Scope,
  { accept, obs }: { readonly accept: boolean; readonly obs: number },
): Promise<DeletionResult> {
  const changed = new Map<string, ChangedTable>();
  const along = new Map<CollectionName, number>();
  let deleted = 0;
  for (;;) {
    const part = await fenced(db, fence, async (trx, at) => {
      await throwUnlessAt(trx, scope, obs);
      await forgetStale(trx, scope, new Date(at.getTime() - BELIEVED_WITHIN * options.gracePeriodMs));
      const deletion = { hard: options.deletes === 'hard', history: options.history, accepted: accept, at };
      return deletePart(trx, scope, deletion);
    });
    deleted += part.deleted;
    for (const [name, rows] of part.along) along.set(name, (along.get(name) ?? 0) + rows);
    for (const each of part.changed) changed.set(each.table, each);
    const { proven, waiting } = part.left;
    if (part.blocked || proven === 0) {
      return { deleted, along, blocked: proven, waiting, changed: [...changed.values()] };
    }
  }
}

async function deletePart(trx: Db, scope: Scope, deletion: Deletion): Promise<Part> {
  const before = await countIn(trx, scope);
  const nothing = { deleted: 0, along: new Map(), changed: [], left: before };
  if (before.proven === 0) return { ...nothing, blocked: false };
  const { userId, collection } = scope;
  if (!deletion.accepted) {
    const blocked = await isBlocked(trx, userId, collection, deletion.at);
    await recordBlocked(trx, scope, blocked);
    if (blocked) return { ...nothing, blocked };
  }
  const table = tableOf(trx.schema, collection);
  const keys = await provenKeys(trx, scope);
  const live = await rowsToDelete(trx, table, scope, keys);
  const batch = fitting(live);
  const gone: GoneScope[] = [];
  const emptied: RowToDelete[] = [];
  for (const row of batch) {
    const children = await deleteChildren(trx, scope, row.key, deletion);
    gone.push(...children);
    // The first one is the only one where there are so many items: the rest of them, and its own row, come next.
    if (children.every(({ whole }) => whole)) emptied.push(row);
  }
  const marked = await deleteRows(trx, table, scope, emptied, deletion);

  const staying = live.filter((row) => !emptied.includes(row));
  const stay = new Set(staying.map(({ key }) => key));
  const done = await forgetSuspects(
    trx,
    scope,
    keys.filter((key) => !stay.has(key)),
  );
  await countSuspects(trx, scope, -done.total, -done.proven);
  const parts = [...gone, { scope, deleted: emptied.length, changed: marked }].filter(
    (each) => each.deleted > 0,
  );
  for (const each of parts) await logDeletion(trx, each, deletion.at);
  if (deletion.accepted) {
    for (const name of [collection, ...childrenOf(collection).map((child) => child.name)]) {
      await clearDeletions(trx, userId, name);
    }
  }
  return {
    deleted: emptied.length,
    along: countByCollection(gone),
    changed: parts.flatMap((each) => each.changed ?? []),
    left: { waiting: before.waiting, proven: before.proven - done.proven },
    blocked: false,
  };
}

function countByCollection(gone: readonly GoneScope[]): RowsByCollection {
  const counts = new Map<CollectionName, number>();
  for (const { scope, deleted } of gone) {
    if (deleted > 0) counts.set(scope.collection, (counts.get(scope.collection) ?? 0) + deleted);
  }
  return counts;
}

async function countIn(trx: Db, scope: Scope): Promise<SuspectCounts> {
  const { rows } = await sql<{ waiting: string; proven: string }>`
    select count(*) filter (where c.proven_at is null) as waiting,
      count(*) filter (where c.proven_at is not null) as proven
    from ${trx.stateTable('candidate')} as c where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)}`.execute(
    trx,
  );
  return { waiting: Number(rows[0]?.waiting ?? 0), proven: Number(rows[0]?.proven ?? 0) };
}

async function forgetStale(trx: Db, scope: Scope, before: Date): Promise<void> {
  const { numAffectedRows } = await sql`
    delete from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} and c.kind = 'returned' and c.at < ${before}`.execute(
    trx,
  );
  await countSuspects(trx, scope, -Number(numAffectedRows ?? 0n), 0);
}

/** The next proven candidates in the order of their keys; of lists, as many as take no more than `MAX_ITEMS` along. */
async function provenKeys(trx: Db, scope: Scope): Promise<string[]> {
  const children = childrenOf(scope.collection).map(({ name }) => name);
  const { rows } = await sql<{ key: string; items: string }>`
    select c.key, (
      select coalesce(sum(s.live_rows), 0) from ${trx.stateTable('scope')} as s
      where s._user_id = ${scope.userId}::bigint and s.collection = any(${children}::text[]) and s.parent = c.key) as items
    from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} and c.proven_at is not null order by c.key limit ${MAX_ROWS}`.execute(
    trx,
  );
  let items = 0;
  const cost = children.length === 0 ? 0 : LIST_COST;
  const end = rows.findIndex((row) => (items += cost + Number(row.items)) > MAX_ITEMS);
  return rows.slice(0, end === -1 ? rows.length : Math.max(1, end)).map(({ key }) => key);
}

/** Tells readers whether the collection's proven deletions are held (`data_quality`); nothing is written that stays. */
async function recordBlocked(trx: Db, scope: Scope, blocked: boolean): Promise<void> {
  const { rows } = await sql<{ total: string; proven: string }>`
    select count(*) as total, count(*) filter (where c.proven_at is not null) as proven
    from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and c.collection = ${scope.collection}`.execute(trx);
  const total = Number(rows[0]?.total ?? 0);
  const proven = blocked ? Number(rows[0]?.proven ?? 0) : 0;
  await sql`
    update ${trx.table('_collections')} as c
    set held_deletions = ${proven}::bigint, waiting_deletions = ${total - proven}::bigint
    where c._user_id = ${scope.userId}::bigint and c.collection = ${scope.collection}
      and (c.held_deletions <> ${proven}::bigint or c.waiting_deletions <> ${total - proven}::bigint)`.execute(
    trx,
  );
}

function logDeletion(
  trx: Db,
  { scope, deleted }: { readonly scope: Scope; readonly deleted: number },
  at: Date,
): Promise<void> {
  const totals = { ...NO_WALK_TOTALS, deleted };
  const end = { scope, kind: 'deletion', startedAt: at, outcome: 'completed', totals } as const;
  return logWalk(trx, end, at);
}
