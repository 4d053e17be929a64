import { describe, expect, it } from 'vitest';
import { recordFreed } from '../../../src/service/budget-store.ts';
import { beginFull } from '../../../src/walk/full.ts';
import { newMemory } from '../../../src/walk/memory.ts';
import { beginPoll } from '../../../src/walk/poll.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { rowsWith } from '../../support/mirror/search-everything.ts';

const database = testDatabase();

const MEMORY = newMemory('bigint');
const POLL = beginPoll(MEMORY, { overlapKey: null, now: 0 }).walk;
const FULL = beginFull(MEMORY, { liveRows: 2, now: 0 }).walk;

/** Everything that a page may write. */
const TABLES = [
  ...['lists', 'lists_history', '_collections', '_conflicts', 'quarantine', 'sync_log'].map((name) => `mirror.${name}`),
  ...['account', 'candidate', 'scope', 'slot_block', 'unsettled'].map((name) => `mirror_sync.${name}`),
];

describe('everything that a page makes true', () => {
  it('is of one transaction: rows, history, rows in doubt, quarantine, counters, checkpoint, log, freshness, due lists, freed slots', async () => {
    const account = await MirroredAccount.make(database, '1');
    const at = new Date('2026-01-01T00:00:00Z');
    // Set-up: list 9, which the page shows missing; the scope; the column that a later value does not fit; a block of slots.
    await account.page('lists', '[{"list_id":1,"size":5},{"list_id":9}]');
    await account.age(2 * account.gracePeriodMs);
    await account.query(`
      insert into mirror_sync.slot_block (_user_id, key_hash, rate_group, block_id, size, valid_until)
      values (1, 'k', 'other', 1, 5, now())`);
    const blocks = [{ group: 'other', blockId: 1, freed: [at.getTime()] }] as const;
    const collection = { polledAt: at, state: 'current', failure: null } as const;
    const page = '[{"list_id":1,"size":"many"},{"list_id":2,"size":7,"status":"open"},{"name":"without ID"}]';
    await account.page('lists', page, {
      alsoInTransaction: (trx) => recordFreed('1')(trx, { keyHash: 'k', blocks, learnt: [] }),
      walk: POLL,
      memory: { before: MEMORY, after: { ...MEMORY, rows: 7 } },
      proof: { kind: 'snapshot' },
      startedAt: at,
      end: { type: 'end', outcome: 'reached', polledAt: at, collection },
    });
    const written = await account.query<{ table: string; transaction: string }>(
      TABLES.map(
        (name) =>
          `select '${name}' as table, xmin::text as transaction from ${name} as t
           where '9' not in (coalesce(to_jsonb(t) ->> 'list_id', ''), coalesce(to_jsonb(t) ->> 'parent', ''))`,
      ).join(' union all '),
    );
    expect([...new Set(written.map(({ table }) => table))].toSorted()).toEqual(TABLES.toSorted());
    expect(new Set(written.map(({ transaction }) => transaction)).size).toBe(1);
  });

  it('is taken back when the commit itself fails', async () => {
    const account = await MirroredAccount.make(database, '2');
    await account.page('lists', '[{"list_id":1,"name":"a"},{"list_id":9}]');
    await account.age(2 * account.gracePeriodMs);
    await account.query(`
      create function refuse() returns trigger language plpgsql set search_path = '' as
      $$ begin raise 'the disk is full'; end $$;
      create constraint trigger refuse after update on mirror_sync.scope deferrable initially deferred
      for each row execute function refuse()`);
    const everything = async (): Promise<string[]> => (await rowsWith(database.db, '')).toSorted();
    const before = await everything();
    const page = '[{"list_id":1,"name":"x"},{"list_id":2,"status":"open"},{"name":"y"}]';
    const late = account.page('lists', page, { walk: FULL, proof: { kind: 'snapshot' } });
    await expect(late).rejects.toThrow('the disk is full');
    expect(await everything()).toEqual(before);
  });
});
