import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import { fenced } from '../ownership/fenced.ts';

/** How such an explanation begins: whatever else is in the error of a queued row is the row's own. */
const WAITS = 'waits: ';

/**
 * Why the account's credits let nothing be sent: they are fewer than `floor` (decimal digits), or nobody knows. Undefined:
 * they suffice.
 */
export async function whyCreditsTooLow(db: Db, userId: string, floor: string): Promise<string | undefined> {
  const row = await db.mirror
    .selectFrom('account')
    .select(sql<boolean | null>`credits < ${floor}::numeric`.as('below'))
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  const below = row?.below ?? undefined;
  if (below === undefined) {
    return `${WAITS}it is not known how many credits the account has, and MIRROR_CREDITS_FLOOR asks for some (is "account" mirrored?)`;
  }
  return below ? `${WAITS}the account has fewer credits than MIRROR_CREDITS_FLOOR` : undefined;
}

/**
 * Writes into the account's queued submissions why they wait, in place of an earlier explanation; undefined: takes that
 * out. What has another error keeps it: that one is its own.
 */
export async function explainWait(db: Db, fence: Fence, why: string | undefined): Promise<void> {
  const error = why ?? null;
  await fenced(db, fence, async (trx) => {
    await trx.sql`
      update ${trx.table('submissions')} set error = ${error}::text
      where _user_id = ${fence.userId}::bigint and state = 'queued'
        and (error is null or starts_with(error, ${WAITS})) and error is distinct from ${error}::text`;
  });
}
