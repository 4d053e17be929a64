import type { Db } from '../connection/db.ts';
import type { Fence } from '../../model/fence.ts';
import { fenced } from '../ownership/fenced.ts';

/** How such an explanation begins; any other error of a queued row is the row's own. */
const WAITS = 'waits: ';

/**
 * Why nothing is sent: the account's credits are fewer than `floor` (decimal digits), or not known. Undefined: they
 * suffice.
 */
export async function whyCreditsTooLow(db: Db, userId: string, floor: string): Promise<string | undefined> {
  const { rows } = await db.sql<{ below: boolean | null }>`
    select credits < ${floor}::numeric as below from ${db.table('account')} where _user_id = ${userId}`;
  const below = rows[0]?.below ?? undefined;
  if (below === undefined) {
    return `${WAITS}it is not known how many credits the account has, and MIRROR_CREDITS_FLOOR asks for some (is "account" mirrored?)`;
  }
  return below ? `${WAITS}the account has fewer credits than MIRROR_CREDITS_FLOOR` : undefined;
}

/**
 * Writes into the account's queued submissions why they wait, over an earlier explanation; undefined removes that. A
 * row with an error of its own keeps it.
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
