import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FreedSlots, NewBlock } from '../../../src/service/slot-store.ts';
import { knownKeys, rememberKey } from '../../../src/postgres/accounts.ts';
import { createBudgetStore, createFirstPingStore, OwnerKnown } from '../../../src/service/budget-store.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { earlier } from '../../support/postgres/earlier.ts';

const FENCE = { userId: '42', owner: 'A', token: '7' };
const KEY = 'hash of a key';
const NOTHING: FreedSlots = { keyHash: KEY, blocks: [], learnt: [] };
const database = testDatabase();

beforeEach(async () => {
  await database.db
    .sql`truncate mirror_sync.account, mirror_sync.slot_block, mirror_sync.rate_group, mirror_sync.first_ping, mirror_sync.api_key;
    insert into mirror_sync.account (_user_id, owner, token, created_at) values (42, 'A', 7, now())`;
});

const store = (): ReturnType<typeof createBudgetStore> => createBudgetStore(database.db, FENCE);
const block = (blockId: number): NewBlock => ({ group: 'other', blockId, size: 5, validForMs: 10_000 });

describe('the budget’s store', () => {
  it('gives a new process what the last one reserved, freed and learnt', async () => {
    const { now } = await store().reserve(KEY, block(1), NOTHING);
    const freed = [now + 60_250, now + 61_000];
    await store().reserve(KEY, block(2), {
      keyHash: KEY,
      blocks: [{ group: 'other', blockId: 1, freed }],
      learnt: [{ group: 'other', learnt: { contacted: true } }],
    });
    const loaded = await store().load(KEY);
    expect(loaded.blocks).toEqual([
      { group: 'other', blockId: 1, size: 5, validUntil: now + 10_000, freed },
      { group: 'other', blockId: 2, size: 5, validUntil: expect.any(Number) as number, freed: [] },
    ]);
    expect(loaded.learnt).toEqual([{ group: 'other', learnt: { contacted: true } }]);
    expect(loaded.now).toBeGreaterThanOrEqual(now);
    expect((await store().load('another key')).blocks).toEqual([]);
  });

  it('keeps what was taken later, whichever is committed first', async () => {
    const { now } = await store().reserve(KEY, block(1), NOTHING);
    const taken = (serial: number): FreedSlots => ({
      keyHash: KEY,
      blocks: [{ group: 'other', blockId: 1, freed: Array.from({ length: serial }, () => now) }],
      learnt: [{ group: 'other', learnt: { serial, contacted: serial > 1 } }],
    });
    for (const serial of [2, 1, 3, 2]) await store().record(taken(serial));
    const loaded = await store().load(KEY);
    expect(loaded.blocks[0]?.freed).toHaveLength(3);
    expect(loaded.learnt).toEqual([{ group: 'other', learnt: { serial: 3, contacted: true } }]);
  });

  it('removes blocks that hold no slot any more', async () => {
    await store().reserve(KEY, block(1), NOTHING);
    await database.db.sql`update mirror_sync.slot_block set valid_until = ${sql.raw(earlier('valid_until', '6 min'))}`;
    await store().reserve(KEY, block(2), NOTHING);
    const { rows } = await database.db.sql<{ block_id: string }>`select block_id from mirror_sync.slot_block`;
    expect(rows).toEqual([{ block_id: '2' }]);
  });
});

describe('the store of first pings', () => {
  it('keeps each ping as a slot that the owner’s budget then counts', async () => {
    const pings = createFirstPingStore(database.db);
    expect(await pings.load(KEY)).toMatchObject({ known: false, blocks: [] });
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => pings.reserve(KEY, { ...block(1), size: 1 }, NOTHING)),
    );
    const first = Math.min(...answers.map(({ now }) => now));
    const loaded = await store().load(KEY);
    expect(loaded.blocks).toHaveLength(6);
    expect(loaded.blocks[0]).toEqual({
      group: 'other',
      blockId: -1,
      size: 1,
      validUntil: first + 10_000,
      freed: [],
    });
  });

  it('reserves none for a key whose owner another program has found meanwhile, and may be reading', async () => {
    const pings = createFirstPingStore(database.db);
    await rememberKey(database.db, KEY, { userId: '7' });
    await expect(pings.reserve(KEY, { ...block(1), size: 1 }, NOTHING)).rejects.toThrow(new OwnerKnown('7'));
    expect((await store().load(KEY)).blocks).toEqual([]);
  });

  it('counts a ping for its whole reservation, also one that was answered or never left', async () => {
    const pings = createFirstPingStore(database.db);
    const { now } = await pings.reserve(KEY, { ...block(1), size: 1 }, NOTHING);
    const freed = { ...NOTHING, blocks: [{ group: 'other' as const, blockId: 1, freed: [now + 5] }] };
    await pings.record(freed);
    await pings.reserve(KEY, { ...block(2), size: 1 }, freed);
    expect((await pings.load(KEY)).blocks).toHaveLength(2);
  });

  it('knows a key once its owner is remembered; a refusal does not make it forget', async () => {
    await rememberKey(database.db, KEY, { userId: '42' });
    await rememberKey(database.db, KEY, { error: 'refused' });
    expect(await knownKeys(database.db, [KEY, 'another'])).toEqual([
      { keyHash: KEY, userId: '42', error: 'refused', moved: undefined },
    ]);
    expect((await createFirstPingStore(database.db).load(KEY)).known).toBe(true);
    expect((await store().load(KEY)).known).toBe(true);
  });
});
