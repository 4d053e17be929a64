import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { childrenOf, type CollectionName, type ListCollection } from '../../model/collections.ts';
import { brakeBlocks, type DeletionVolume } from './brake.ts';

const HOUR_MS = 3_600_000;
/** The last 24 hours are begun hours: up to one more. */
const BEGUN_HOURS = 25;

/** Whether the brake holds the deletions of a collection; a list is held with the items that would go with it, too. */
export async function isBlocked(trx: Db, userId: string, name: CollectionName, at: Date): Promise<boolean> {
  if (brakeBlocks(await deletionVolume(trx, userId, name, at))) return true;
  for (const child of childrenOf(name)) {
    if (brakeBlocks(await childDeletionVolume(trx, userId, child, name, at))) return true;
  }
  return false;
}

async function deletionVolume(
  trx: Db,
  userId: string,
  name: CollectionName,
  at: Date,
): Promise<DeletionVolume> {
  const { rows } = await sql<{ suspected: string }>`
    select count(*) as suspected from ${trx.stateTable('candidate')} as c
    where c._user_id = ${userId}::bigint and c.collection = ${name} and c.kind <> 'returned'`.execute(trx);
  return { suspected: Number(rows[0]?.suspected ?? 0), ...(await rowsOf(trx, userId, name, at)) };
}

/** As `tollOf`, for the items of lists, where lists in doubt take all their items with them. */
async function childDeletionVolume(
  trx: Db,
  userId: string,
  child: ListCollection,
  parents: CollectionName,
  at: Date,
): Promise<DeletionVolume> {
  const suspectParents = sql`
    select p.key from ${trx.stateTable('candidate')} as p
    where p._user_id = ${userId}::bigint and p.collection = ${parents} and p.kind <> 'returned'`;
  const { rows } = await sql<{ single: string; whole: string }>`
    select
      (select count(*) from ${trx.stateTable('candidate')} as c
       where c._user_id = ${userId}::bigint and c.collection = ${child.name} and c.kind <> 'returned'
         and c.parent not in (${suspectParents})) as single,
      (select coalesce(sum(s.live_rows), 0) from ${trx.stateTable('scope')} as s
       where s._user_id = ${userId}::bigint and s.collection = ${child.name} and s.parent in (${suspectParents})) as whole`.execute(
    trx,
  );
  const suspected = Number(rows[0]?.single ?? 0) + Number(rows[0]?.whole ?? 0);
  return { suspected, ...(await rowsOf(trx, userId, child.name, at)) };
}

async function rowsOf(
  trx: Db,
  userId: string,
  name: CollectionName,
  at: Date,
): Promise<Pick<DeletionVolume, 'deleted' | 'live'>> {
  const { rows } = await sql<{ deleted: string; live: string }>`
    select
      (select coalesce(sum(d.deleted), 0) from ${trx.stateTable('deletions')} as d
       where d._user_id = ${userId}::bigint and d.collection = ${name} and d.hour > ${dayBefore(at)}) as deleted,
      (select coalesce(sum(c.live_rows), 0) from ${trx.table('_collections')} as c
       where c._user_id = ${userId}::bigint and c.collection = ${name}) as live`.execute(trx);
  return { deleted: Number(rows[0]?.deleted ?? 0), live: Number(rows[0]?.live ?? 0) };
}

/** Remembers for a day that rows were deleted. */
export async function addDeletions(
  trx: Db,
  userId: string,
  name: CollectionName,
  at: Date,
  deleted: number,
): Promise<void> {
  const hour = new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS);
  await sql`
    delete from ${trx.stateTable('deletions')}
    where _user_id = ${userId}::bigint and collection = ${name} and hour <= ${dayBefore(at)}`.execute(trx);
  await sql`
    insert into ${trx.stateTable('deletions')} as d (_user_id, collection, hour, deleted)
    values (${userId}::bigint, ${name}, ${hour}::timestamptz, ${deleted}::bigint)
    on conflict (_user_id, collection, hour) do update set deleted = d.deleted + excluded.deleted`.execute(
    trx,
  );
}

/** Deletions that a person accepted are no reason to hold the next ones. */
export async function clearDeletions(trx: Db, userId: string, name: CollectionName): Promise<void> {
  await sql`
    delete from ${trx.stateTable('deletions')} where _user_id = ${userId}::bigint and collection = ${name}`.execute(
    trx,
  );
}

function dayBefore(at: Date): Date {
  return new Date(at.getTime() - BEGUN_HOURS * HOUR_MS);
}
