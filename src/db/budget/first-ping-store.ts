import { commitDurably, type Db, onlyRow } from '../connection/db.ts';
import { BLOCK_MEMORY_MS, BLOCK_VALID_MS } from '../../budget/reservations.ts';
import type { BudgetStore, LoadedBlock } from '../../budget/store.ts';

/**
 * Reservations of a key whose owner nobody knows yet: no account, so no fence (docs/design/rate-limit.md, "A key's
 * first request"). Each is a row, written under a lock on the table, which no login without rights can take, so that
 * each of several programs that meet a new key sees the pings before its own. Each counts for its whole reservation,
 * also one that was answered or never sent; what was learnt is not stored.
 */
export function createFirstPingStore(db: Db): BudgetStore {
  return {
    largestBlock: 1,
    load: (keyHash) =>
      db.transaction(async (trx) => ({
        ...(await firstPings(trx, keyHash)),
        known: (await ownerOfKey(trx, keyHash)) !== undefined,
        learnt: [],
      })),
    reserve: (keyHash) =>
      db.transaction(async (trx) => {
        await trx.sql`lock table ${trx.stateTable('first_ping')} in share row exclusive mode`;
        await commitDurably(trx);
        const owner = await ownerOfKey(trx, keyHash);
        // Its owner is known by now, and may be using all slots that there are: it would not hear of this one.
        if (typeof owner === 'string') throw new OwnerKnown(owner);
        const inserted = await trx.sql<{ at: Date }>`
          insert into ${trx.stateTable('first_ping')} (key_hash, sent_at)
          values (${keyHash}, clock_timestamp()) returning sent_at as at`;
        const now = onlyRow(inserted).at.getTime();
        const past = new Date(now - BLOCK_MEMORY_MS);
        await trx.state.deleteFrom('first_ping').where('sent_at', '<', past).execute();
        return { now };
      }),
    record: () => Promise.resolve(),
  };
}

/** Another process has found out meanwhile whose the key is: no ping goes out. */
export class OwnerKnown extends Error {
  override readonly name = 'OwnerKnown';
  readonly userId: string;
  constructor(userId: string) {
    super(`the key is known as account ${userId}'s`);
    this.userId = userId;
  }
}

/** The account that the key is known for; null: none yet; undefined: no program has pinged it. */
export async function ownerOfKey(db: Db, keyHash: string): Promise<string | null | undefined> {
  const row = await db.state
    .selectFrom('api_key')
    .select('_user_id')
    .where('key_hash', '=', keyHash)
    .executeTakeFirst();
  return row?._user_id;
}

/** First pings of a key that may still use a slot, as blocks of one slot, and the database's time. */
export async function firstPings(
  db: Db,
  keyHash: string,
): Promise<{ readonly now: number; readonly blocks: readonly LoadedBlock[] }> {
  const found = await db.sql<{ now: Date; pings: Date[] }>`
    select clock_timestamp() as now, coalesce(
      -- One that lies ahead was sent before the clock went back: it may count for a window from now on.
      (select array_agg(least(sent_at, clock_timestamp()) order by sent_at) from ${db.stateTable('first_ping')}
       where key_hash = ${keyHash}), '{}') as pings`;
  const { now, pings } = onlyRow(found);
  return {
    now: now.getTime(),
    blocks: pings.map((sentAt, index) => ({
      group: 'other',
      // Numbers of rows in slot_block are positive.
      blockId: -1 - index,
      size: 1,
      validUntil: sentAt.getTime() + BLOCK_VALID_MS,
      freed: [],
    })),
  };
}
