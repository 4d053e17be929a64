import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { childrenOf, type CollectionName, type Scope } from '../../model/collections.ts';

/** Deletions that the brake never blocks: small collections lose a good part of their rows every day. */
export const FREE_ROWS = 10;
/** Share of a collection's rows that may be deleted within a day. */
export const FREE_SHARE = 0.2;

const HOUR_MS = 3_600_000;
/** The last 24 hours are counted in begun hours: up to one more. */
const BEGUN_HOURS = 25;

/** What the brake judges by: one collection of an account, over all its scopes, at one moment. */
export interface DeletionVolume {
  /** Suspected deletions, proven or not; the items of suspected lists, too. */
  readonly suspected: number;
  /** Rows deleted within the last day. */
  readonly deleted: number;
  readonly live: number;
}

type AccountCollection = Pick<Scope, 'userId' | 'collection'>;

/**
 * Whether a person has to look at the deletions first: more than 10 rows, and more than 20 % of what there was, are
 * suspected or were deleted within a day (docs/design/deletions.md, "Brake"). That is how a service looks that loses
 * its data or answers for another account, and a user who clears up: then `--accept-deletions` allows them.
 */
export function brakeBlocks({ suspected, deleted, live }: DeletionVolume): boolean {
  const volume = suspected + deleted;
  return volume > FREE_ROWS && volume > FREE_SHARE * (live + deleted);
}

/** Whether the brake blocks a collection's deletions, for its own volume or that of the items that go with them. */
export async function isBlocked(trx: Db, lists: AccountCollection, at: Date): Promise<boolean> {
  const { userId, collection } = lists;
  const suspected = sql`
    select count(*) from ${trx.stateTable('candidate')} as c
    where c._user_id = ${userId}::bigint and c.collection = ${collection} and ${counts(at)}`;
  if (brakeBlocks(await volumeOf(trx, lists, at, suspected))) return true;
  for (const { name } of childrenOf(collection)) {
    const items = { userId, collection: name };
    if (brakeBlocks(await volumeOf(trx, items, at, suspectedItems(trx, items, collection, at)))) return true;
  }
  return false;
}

/** What Postgres refuses to delete was let through, and stays: like what was deleted, it counts for a day. */
function counts(at: Date): RawBuilder<boolean> {
  return sql`c.kind <> 'returned' and (c.refused_at is null or c.proven_at > ${dayBefore(at)})`;
}

/** The number of items that are suspected themselves, or would go with a suspected list. */
function suspectedItems(
  trx: Db,
  { userId, collection }: AccountCollection,
  parents: CollectionName,
  at: Date,
): RawBuilder<unknown> {
  const lists = sql`
    select p.key from ${trx.stateTable('candidate')} as p
    where p._user_id = ${userId}::bigint and p.collection = ${parents} and p.kind <> 'returned'`;
  return sql`
    (select count(*) from ${trx.stateTable('candidate')} as c
     where c._user_id = ${userId}::bigint and c.collection = ${collection} and ${counts(at)}
       and c.parent not in (${lists}))
    + (select coalesce(sum(s.live_rows), 0) from ${trx.stateTable('scope')} as s
       where s._user_id = ${userId}::bigint and s.collection = ${collection} and s.parent in (${lists}))`;
}

async function volumeOf(
  trx: Db,
  { userId, collection }: AccountCollection,
  at: Date,
  suspected: RawBuilder<unknown>,
): Promise<DeletionVolume> {
  const { rows } = await trx.sql<Record<keyof DeletionVolume, string>>`
    select (${suspected}) as suspected,
      (select coalesce(sum(d.deleted), 0) from ${trx.stateTable('deletions')} as d
       where d._user_id = ${userId}::bigint and d.collection = ${collection} and d.hour > ${dayBefore(at)}) as deleted,
      (select coalesce(sum(c.live_rows), 0) from ${trx.table('_collections')} as c
       where c._user_id = ${userId}::bigint and c.collection = ${collection}) as live`;
  const [row] = rows;
  return { suspected: Number(row?.suspected), deleted: Number(row?.deleted), live: Number(row?.live) };
}

/** Counts rows that were deleted towards the volume of the next day. */
export async function addDeletions(
  trx: Db,
  { userId, collection }: AccountCollection,
  at: Date,
  deleted: number,
): Promise<void> {
  const hour = new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS);
  await trx.sql`
    delete from ${trx.stateTable('deletions')}
    where _user_id = ${userId}::bigint and collection = ${collection} and hour <= ${dayBefore(at)}`;
  await trx.sql`
    insert into ${trx.stateTable('deletions')} as d (_user_id, collection, hour, deleted)
    values (${userId}::bigint, ${collection}, ${hour}::timestamptz, ${deleted}::bigint)
    on conflict (_user_id, collection, hour) do update set deleted = d.deleted + excluded.deleted`;
}

/** What was deleted so far does not count any more: a person accepted it. */
export async function clearDeletions(trx: Db, { userId, collection }: AccountCollection): Promise<void> {
  await trx.sql`
    delete from ${trx.stateTable('deletions')}
    where _user_id = ${userId}::bigint and collection = ${collection}`;
}

function dayBefore(at: Date): Date {
  return new Date(at.getTime() - BEGUN_HOURS * HOUR_MS);
}
