import { type Kysely, sql } from 'kysely';
import type { MissingRow } from '../../model/absence.ts';
import type { Scope } from '../../model/collections.ts';
import { keyColumn, place, placeOf, placeOrder } from '../key-order.ts';
import { inScope, named, tableOf } from '../table.ts';

/**
 * Missing rows that one observation tells of at most, so that memory stays bounded; those first in key order are
 * told. The rest is told by the next observation: what is beyond is neither in doubt nor deleted until then, and the
 * brake counts what went before.
 */
export const MAX_MISSING = 200_000;

/** Live keys read by one statement. */
const BATCH = 10_000;

/**
 * Live rows of the scope that a whole walk did not see, in key order, as far as they are older than `changedBefore`;
 * at most `MAX_MISSING`. Reads the scope's keys a batch at a time.
 * @param changedBefore rows inserted, changed or undeleted later are left out
 */
export async function liveKeysMissing(
  db: Kysely<unknown>,
  schema: string,
  scope: Scope,
  seen: (key: string) => boolean,
  changedBefore: Date,
): Promise<MissingRow[]> {
  const table = tableOf(schema, scope.collection);
  const missing: MissingRow[] = [];
  let after: string | undefined;
  for (;;) {
    const beyond = after === undefined ? sql`true` : sql`${place(table)} > ${placeOf(table, after)}`;
    const { rows } = await sql<{ key: string; changed_at: Date }>`
      select ${keyColumn(table)}::text as key, t._changed_at as changed_at from ${named(table)} as t
      where ${inScope(table, scope)} and ${beyond} and t._deleted_at is null
      order by ${placeOrder(table, 'up')} limit ${BATCH}`.execute(db);
    for (const { key, changed_at: changedAt } of rows) {
      if (changedAt <= changedBefore && !seen(key)) missing.push({ key, changedAt: changedAt.getTime() });
      if (missing.length >= MAX_MISSING) return missing;
    }
    after = rows.at(-1)?.key;
    if (rows.length < BATCH) return missing;
  }
}
