import { allSent, type Db } from '../postgres/db.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { BadItem } from './page-record.ts';
import { type RowPayload, RowsNotWritten, type RowWrite, writeRows } from './write-rows.ts';
import { quarantinedKeys } from './quarantine.ts';
import { dataTable } from './table.ts';

/** Errors of the data: values that don’t fit (class 22), added constraints (23), limits such as nesting (54). */
const DATA_ERROR = /^(22|23|54)/;

/** Errors that no item causes: connection, transaction state, races, resources, locks, shutdown, system, corruption. */
const NO_ITEMS_ERROR = /^(08|25|40|53|55P03|57|58|XX00[12])/;

/** Errors that the table or the database may cause: missing objects, rights, features, states, internal errors. */
const PERHAPS_TABLES = /^(0|2[5BDF]|3|42|55|F0|HV|XX)/;

/** Most characters of Postgres's message. */
const LONGEST_REASON = 500;

export function isDataError(error: unknown): boolean {
  return DATA_ERROR.test(sqlState(error) ?? '');
}

/** Whether a single item may cause the error: a trigger can raise nearly anything, and can skip a row silently. */
export function mayBeItems(error: unknown): boolean {
  return error instanceof RowsNotWritten || !NO_ITEMS_ERROR.test(sqlState(error) ?? '08');
}

/** The result of `work`, or `otherwise` if Postgres refuses it, which rolls it back. */
export async function unlessRefused<T>(trx: Db, work: () => Promise<T>, otherwise: T): Promise<T> {
  await trx.sql`savepoint careful`;
  try {
    return await work();
  } catch (error) {
    if (!mayBeItems(error)) throw error;
    await trx.sql`rollback to savepoint careful`;
    return otherwise;
  } finally {
    await trx.sql`release savepoint careful`.catch(() => {});
  }
}

/** Rows with the change ID before each. */
type Part = readonly { readonly row: RowPayload; readonly before: bigint }[];

/**
 * Writes rows of which Postgres refuses some, and finds those (invariant 10): parts of the page first, then the rows of
 * the refused parts one by one. It takes two round trips, however many rows are refused.
 * @returns the rows that Postgres refused
 * @throws the error if all rows were refused and the table or the database may be the cause: by the error of a row that
 *   is not in quarantine yet, or by a rule of the table
 */
export async function writeCarefully(
  trx: Db,
  write: RowWrite,
  rows: readonly RowPayload[],
  before: bigint,
): Promise<BadItem[]> {
  const numbered = rows.map((row, index) => ({ row, before: before + BigInt(index) }));
  const size = Math.ceil(Math.sqrt(rows.length));
  const parts = Array.from({ length: Math.ceil(rows.length / size) }, (_, part) =>
    numbered.slice(part * size, (part + 1) * size),
  );
  const suspects = (await writeParts(trx, write, parts)).flatMap(({ part }) => part.map((one) => [one]));
  const refused = await writeParts(trx, write, suspects);
  const tables = refused.filter(({ error }) => PERHAPS_TABLES.test(sqlState(error) ?? ''));
  if (tables.length > 0 && refused.length === rows.length) {
    const keys = tables.flatMap(({ part }) => part.map(({ row }) => row.row.key));
    const apart = await quarantinedKeys(trx, write.scope, keys);
    const other = tables.find(({ part: [one] }) => one !== undefined && !apart.has(one.row.row.key));
    if (other !== undefined) throw other.error;
  }
  const left = refused.find(({ error }) => error instanceof RowsNotWritten);
  if (left !== undefined && refused.length === rows.length) {
    // A rule affects every row; a trigger may choose.
    const { rows: rules } = await trx.sql`
      select from pg_rewrite r join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${trx.schema} and c.relname = ${write.table.name} limit 1`;
    if (rules.length > 0) throw left.error;
  }
  return refused.flatMap(({ part, error }) => {
    const reason = `is refused by Postgres: ${reasonOf(error)}`;
    return part.map(({ row: { row } }) => ({ index: row.index, item: row.item, reason }));
  });
}

/** Why Postgres refused rows. */
export function reasonOf(error: unknown): string {
  if (error instanceof RowsNotWritten) return 'it wrote no row and gave no reason; a trigger may discard it';
  const state = sqlState(error);
  // Postgres quotes some values in full.
  const words = messageOf(error).slice(0, LONGEST_REASON).toWellFormed();
  return state === undefined ? words : `${words} (${state})`;
}

/** Most bytes sent at once: on a slow connection the last statement has to be answered in time as well. */
const MOST_UNDER_WAY = 262_144;
/** Bytes of a statement without its rows. */
const STATEMENT_BYTES = 4_096;

/**
 * Writes the parts, all sent at once: no statement depends on an answer. The savepoint after a part exists only if the
 * part was written; else it fails as well, and the rollback goes to the savepoint before.
 */
async function writeParts(trx: Db, write: RowWrite, parts: readonly Part[]) {
  const refused: { readonly part: Part; readonly error: unknown }[] = [];
  if (parts.length === 0) return refused;
  let underWay: Promise<unknown>[] = [trx.sql`savepoint careful`, trx.sql`savepoint part`];
  let bytes = 0;
  for (const part of parts) {
    const written = writePart(trx, write, part).catch((error: unknown) => refused.push({ part, error }));
    const kept = trx.sql`savepoint part`.catch(() => {});
    underWay.push(written, kept, trx.sql`rollback to savepoint part`);
    bytes += part.reduce((sum, { row }) => sum + row.json.length, STATEMENT_BYTES);
    if (part === parts.at(-1)) underWay.push(trx.sql`release savepoint careful`);
    else if (bytes < MOST_UNDER_WAY) continue;
    const [answers] = await Promise.allSettled([allSent(...underWay)]);
    const failed = refused.find(({ error }) => !mayBeItems(error));
    if (failed !== undefined) throw failed.error;
    if (answers.status === 'rejected') throw answers.reason;
    underWay = [];
    bytes = 0;
  }
  return refused;
}

/** @throws RowsNotWritten, and an error in Postgres, which rolls back the part with its archived versions */
async function writePart(trx: Db, write: RowWrite, part: Part): Promise<void> {
  const [first] = part;
  if (first === undefined) return;
  const { table, scope } = write;
  const rows = part.map(({ row }) => row);
  const written = writeRows(trx, write, rows, first.before);
  // Divides by zero if rows are missing.
  const whole = trx.sql`
    select 1 / (count(*) / ${part.length}::bigint) from ${dataTable(table)} as t
    where t._user_id = ${scope.userId}::bigint and t._change_id > ${String(first.before)}::bigint
      and t._change_id <= ${String(first.before + BigInt(part.length))}::bigint`;
  await allSent(written, whole);
}
