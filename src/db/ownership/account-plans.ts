import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';

/**
 * Has the rest of a transaction's statements planned without their values; a column of a select from the account's own
 * row, so that on Citus the node that has the account's rows does it.
 *
 * With values, PostgreSQL takes an account that its statistics have not seen yet for an empty one, and any index that
 * begins with `_user_id` for as good as the primary key: it then reads all rows of the account for each key. Without
 * them it expects as many rows as accounts have on average (docs/design/sql.md, "Plans").
 */
export const PLANNED_WITHOUT_VALUES: RawBuilder<string> = sql`set_config('plan_cache_mode', 'force_generic_plan', true)`;

/** The rows of a query, so planned, that looks up many keys of an account or goes through its rows in order. */
export function readAccount<Row>(db: Db, userId: string, query: RawBuilder<Row>): Promise<Row[]> {
  return db.transaction(async (trx) => {
    await trx.sql`
      select ${PLANNED_WITHOUT_VALUES} from ${trx.stateTable('account')} where _user_id = ${userId}::bigint`;
    return (await query.execute(trx)).rows;
  });
}
