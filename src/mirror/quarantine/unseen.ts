import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';

/** Items in quarantine that a complete reading of their scope did not see. */
export interface Unseen {
  /** Hashes of those that it saw. */
  readonly seen: readonly string[];
  /** What was seen later than this by others stays. */
  readonly before: Date;
}

/** Rows removed by one reading, so that its transaction stays short; the next one removes the rest. */
const MOST_FORGOTTEN = 2_000;

/** Lets go of what a complete reading of the scope did not see: the service has it no more. */
export async function forgetUnseen(trx: Db, scope: Scope, { seen, before }: Unseen): Promise<void> {
  await sql`
    delete from ${trx.table('quarantine')} as q
    where q._user_id = ${scope.userId}::bigint and ${quarantineInScope(scope)} and q.item_hash = any(array(
      select q.item_hash from ${trx.table('quarantine')} as q
      where q._user_id = ${scope.userId}::bigint and ${quarantineInScope(scope)} and q.last_seen_at < ${before}::timestamptz
        and not exists (
          select from unnest(${[...seen]}::text[]) as s (hash) where decode(s.hash, 'hex') = q.item_hash)
      limit ${MOST_FORGOTTEN}))`.execute(trx);
}

/** Condition on the table aliased `q`, beside its `_user_id`, which each statement names itself (docs/design/sql.md, "Rule 1"). */
export function quarantineInScope(scope: Scope): RawBuilder<boolean> {
  return sql`q.collection = ${scope.collection} and q.parent = ${scope.parent}`;
}
