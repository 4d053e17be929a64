import { sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import type { Found, RowsAnswer, RowsAsked } from '../../model/lookup/lookup-answers.ts';
import { dataTable, tableOf } from '../table.ts';
import { lookupSnapshot, shown } from './shown-row.ts';

/** Rows of a page. */
export const ROWS_AT_ONCE = 50;
/** Rows that a page of one state looks at: no index has states, and a rare one may be in none of a million rows. */
export const LOOKED_AT = 5_000;

/** Rows of a collection, those that changed last first. @throws DatabaseUnavailable, also where it takes too long */
export async function newestRows(db: Db, asked: RowsAsked): Promise<RowsAnswer> {
  const { userId, collection, state, before } = asked;
  const table = tableOf(db.schema, collection);
  const rowsOf = sql`from ${dataTable(table)} as r where r._user_id = ${userId}::bigint
    ${before === undefined ? sql`` : sql`and r._change_id < ${before}::bigint`} order by r._change_id desc`;
  return lookupSnapshot(db, async (trx) => {
    const at = (await databaseTime(trx)).toISOString();
    const { rows } = await trx.sql<Found & { readonly changeId: string }>`
      select f.kind, f."userId", f.id, f.collection, f.key, f.name, f.state, to_json(f.at) as at, f."changeId"
      from (
        select ${shown(table)}, r._change_id as "changeId" ${rowsOf}
        limit ${state === undefined ? ROWS_AT_ONCE + 1 : LOOKED_AT}) as f
      ${state === undefined ? sql`` : sql`where f.state = ${state}`}
      order by f."changeId" desc limit ${ROWS_AT_ONCE + 1}`;
    const shownRows = rows.slice(0, ROWS_AT_ONCE);
    let next = rows.length > ROWS_AT_ONCE ? shownRows.at(-1)?.changeId : undefined;
    if (next === undefined && state !== undefined) {
      const lookedAt = await trx.sql<{ changeId: string }>`
        select r._change_id as "changeId" ${rowsOf} offset ${LOOKED_AT - 1} limit 1`;
      next = lookedAt.rows[0]?.changeId;
    }
    return { ...asked, at, rows: shownRows, next: next ?? null };
  });
}
