import { type Selectable, sql } from 'kysely';
import { ClockStepped } from '../model/errors.ts';
import { BLOCK_MEMORY_MS } from '../postgres/clock-step.ts';
import { commitDurably, type Db, onlyRow } from '../postgres/db.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import type { StateTables } from '../postgres/tables.ts';
import { BLOCK_VALID_MS } from './slots.ts';
import type { BudgetStore, FreedSlots, LearntRow, LoadedBlock, LoadedBudget } from './slot-store.ts';

/** Writes an account's freed slots, in a page's transaction. */
export type RecordFreed = (trx: Db, freed: FreedSlots) => Promise<void>;

/** The reservations of an account's keys, under its fence (docs/design/rate-limit.md, "Reservations"). */
export function createBudgetStore(db: Db, fence: Fence): BudgetStore {
  const { userId } = fence;
  const record = recordFreed(userId);
  return {
    largestBlock: Infinity,
    // One snapshot of all three tables.
    load: (keyHash) =>
      db.snapshot(async (trx) => {
        const pings = await firstPings(trx, keyHash);
        const now = await accountTime(trx, userId);
        const blocks = await trx.state
          .selectFrom('slot_block')
          .select(['rate_group', 'block_id', 'size', 'valid_until', 'freed'])
          .where('_user_id', '=', userId)
          .where('key_hash', '=', keyHash)
          .where('valid_until', '>=', new Date(now.getTime() - BLOCK_MEMORY_MS))
          .execute();
        const learnt = await trx.state
          .selectFrom('rate_group')
          .select(['rate_group', 'learnt'])
          .where('_user_id', '=', userId)
          .where('key_hash', '=', keyHash)
          .execute();
        return {
          now: now.getTime(),
          known: (await ownerOfKey(trx, keyHash)) !== undefined,
          blocks: [...blocks.map(loadedBlock), ...pings.blocks],
          learnt: learnt.map(loadedLearnt),
        };
      }),
    reserve: (keyHash, { group, blockId, size, validForMs }, freed) =>
      fenced(db, fence, async (trx, now) => {
        // Slots that Postgres forgets in a crash would be used again.
        await commitDurably(trx);
        const at = now.getTime();
        // No slot of these blocks is in use any more.
        await trx.state
          .deleteFrom('slot_block')
          .where('_user_id', '=', userId)
          .where('key_hash', '=', keyHash)
          .where('rate_group', '=', group)
          .where('valid_until', '<', new Date(at - BLOCK_MEMORY_MS))
          .execute();
        const row = { key_hash: keyHash, rate_group: group, block_id: blockId, size };
        await trx.state
          .insertInto('slot_block')
          .values({ _user_id: userId, ...row, valid_until: new Date(at + validForMs) })
          .execute();
        await record(trx, freed);
        return { now: at };
      }),
    record: async (freed) => {
      try {
        await fenced(db, fence, (trx) => record(trx, freed));
      } catch (error) {
        if (!(error instanceof ClockStepped)) throw error;
        // The account's rows were moved, and these moments are by the clock as it was. Without the correction, the
        // next owner would wait a minute for slots that are not in use.
        const blocks = freed.blocks.map((block) => ({
          ...block,
          freed: block.freed.map((at) => at + error.byMs),
        }));
        await fenced(db, fence, (trx) => record(trx, { ...freed, blocks }), undefined, undefined, 'pass');
      }
    },
  };
}

/** @returns a function that a page's transaction calls with the freed slots of each key */
export function recordFreed(userId: string): RecordFreed {
  return async (trx, { keyHash, blocks, learnt }) => {
    if (blocks.length > 0) {
      // All blocks in one statement: a page costs its round trips.
      const json = JSON.stringify(
        blocks.map((block) => ({
          rate_group: block.group,
          block_id: block.blockId,
          freed: block.freed.map((moment) => new Date(moment).toISOString()),
        })),
      );
      await trx.sql`update ${trx.stateTable('slot_block')} as b set freed = x.freed
        from jsonb_to_recordset(${json}::text::jsonb) as x(rate_group text, block_id bigint, freed timestamptz[])
        where b._user_id = ${userId} and b.key_hash = ${keyHash}
          and b.rate_group = x.rate_group and b.block_id = x.block_id
          and cardinality(b.freed) <= cardinality(x.freed)`;
    }
    if (learnt.length > 0) {
      await trx.state
        .insertInto('rate_group')
        .values(
          learnt.map(({ group, learnt }) => {
            const row = { key_hash: keyHash, rate_group: group, learnt: JSON.stringify(learnt) };
            return { _user_id: userId, ...row };
          }),
        )
        .onConflict((conflict) =>
          conflict
            .columns(['_user_id', 'key_hash', 'rate_group'])
            .doUpdateSet((row) => ({ learnt: row.ref('excluded.learnt') }))
            .where(
              sql<boolean>`coalesce((rate_group.learnt ->> 'serial')::numeric, 0)
                <= coalesce((excluded.learnt ->> 'serial')::numeric, 0)`,
            ),
        )
        .execute();
    }
  };
}

export function loadedBlock(row: Omit<Selectable<StateTables['slot_block']>, '_user_id' | 'key_hash'>): LoadedBlock {
  return {
    group: row.rate_group as LoadedBlock['group'],
    blockId: Number(row.block_id),
    size: row.size,
    validUntil: row.valid_until.getTime(),
    freed: row.freed.map((moment) => moment.getTime()),
  };
}

export function loadedLearnt(row: Pick<Selectable<StateTables['rate_group']>, 'rate_group' | 'learnt'>): LearntRow {
  return { group: row.rate_group, learnt: row.learnt } as LearntRow;
}

/** The clock by which the account's blocks are written, as in `fenced`: on Citus that of the account's node. */
async function accountTime(trx: Db, userId: string): Promise<Date> {
  const { rows } = await trx.sql<{ now: Date }>`
    select clock_timestamp() as now from ${trx.stateTable('account')} where _user_id = ${userId}`;
  const [row] = rows;
  if (row === undefined) throw new RangeError(`account ${userId} has no row: its budget is read after its takeover`);
  return row.now;
}

/**
 * Reservations of a key whose owner is unknown: no account, so no fence (docs/design/rate-limit.md, "A key's first
 * request"). A table lock that no login without rights can take lets each program see the pings before its own. A ping
 * counts for its whole reservation, even if it is answered or never sent. Nothing learnt is stored.
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
        // The owner is known by now. It may be using all slots, and would not hear of this one.
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

/** Another process has found the key's owner meanwhile: no ping goes out. */
export class OwnerKnown extends Error {
  override readonly name = 'OwnerKnown';
  readonly userId: string;
  constructor(userId: string) {
    super(`the key belongs to account ${userId}`);
    this.userId = userId;
  }
}

/** The key's account; null: not known yet; undefined: no program has pinged it. */
async function ownerOfKey(db: Db, keyHash: string): Promise<string | null | undefined> {
  const row = await db.state
    .selectFrom('api_key')
    .select('_user_id')
    .where('key_hash', '=', keyHash)
    .executeTakeFirst();
  return row?._user_id;
}

/** A key's first pings that may still use a slot, as blocks of one slot, and the database's time. */
async function firstPings(db: Db, keyHash: string): Promise<Pick<LoadedBudget, 'now' | 'blocks'>> {
  const found = await db.sql<{ now: Date; pings: Date[] }>`
    select clock_timestamp() as now, coalesce(
      -- A ping that lies ahead was sent before the clock went back: it may count for a window from now on.
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
