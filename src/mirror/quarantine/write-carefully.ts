import type { Db } from '../../db/connection/db.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { RefusedItem } from '../page-write.ts';
import type { RowPayload } from '../rows/row-payload.ts';
import { type RowWrite, writeRows } from '../rows/write-rows.ts';

/**
 * Errors caused by the data: values out of range or not representable (class 22), constraints that somebody added to
 * the table (23), limits of PostgreSQL such as nesting (54).
 */
const DATA_ERROR = /^(22|23|54)/;

/** Characters of Postgres's message at most. */
const LONGEST_REASON = 500;

export function isDataError(error: unknown): boolean {
  return DATA_ERROR.test(sqlState(error) ?? '');
}

/** Whether the item's text itself is the reason, not a constraint: it will be refused again. */
export function isHopeless(error: unknown): boolean {
  return isDataError(error) && !(sqlState(error) ?? '').startsWith('23');
}

/**
 * Writes rows where Postgres refuses some. Refused rows are halved until the bad ones stand alone (invariant 10);
 * each part is a savepoint, so that the good ones stay.
 * @returns the rows that Postgres refused
 */
export async function writeCarefully(
  trx: Db,
  write: RowWrite,
  rows: readonly RowPayload[],
  before: bigint,
): Promise<RefusedItem[]> {
  await trx.sql`savepoint careful`;
  try {
    await writeRows(trx, write, rows, before);
    await trx.sql`release savepoint careful`;
    return [];
  } catch (error) {
    const [only] = rows;
    if (!isDataError(error) || only === undefined) throw error;
    await trx.sql`rollback to savepoint careful`;
    await trx.sql`release savepoint careful`;
    if (rows.length === 1) {
      const { index, item } = only.row;
      // Postgres quotes some values whole.
      const why = messageOf(error).slice(0, LONGEST_REASON).toWellFormed();
      const reason = `is refused by Postgres: ${why} (${sqlState(error)})`;
      return [{ index, item, reason, hopeless: isHopeless(error) }];
    }
    const half = Math.ceil(rows.length / 2);
    return [
      ...(await writeCarefully(trx, write, rows.slice(0, half), before)),
      ...(await writeCarefully(trx, write, rows.slice(half), before + BigInt(half))),
    ];
  }
}
