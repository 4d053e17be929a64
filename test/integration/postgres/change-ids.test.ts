import { describe, expect, it } from 'vitest';
import { fenced, LONGEST_WITH_IDS, takeChangeIds } from '../../../src/postgres/fenced.ts';
import type { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

const setId = (account: MirroredAccount, id: string): Promise<unknown> =>
  account.query(`update mirror_sync.account set change_id = ${id} where _user_id = ${account.fence.userId}`);

/** Takes `count` IDs in a transaction of its own. @returns the last one */
const take = async (
  { database: { db }, fence }: MirroredAccount,
  count = 1,
  monotonic?: () => number,
): Promise<bigint> =>
  fenced(
    db,
    fence,
    async (trx) => (await takeChangeIds(trx, fence.userId, count)) + BigInt(count),
    monotonic,
  );

const micros = async (account: MirroredAccount): Promise<bigint> => {
  const [row] = await account.query<{ now: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now',
  );
  return BigInt(row?.now ?? 0);
};

describe('change IDs', () => {
  it('follow the database’s clock, so that they are not reused after an outage', async () => {
    const account = await newAccount();
    await setId(account, '41');
    const before = await micros(account);
    const id = await take(account, 5);
    expect(id).toBeGreaterThanOrEqual(before + 5n);
    expect(id).toBeLessThanOrEqual((await micros(account)) + 5n);
  });

  it('rise by one each while the clock stands or is behind', async () => {
    const account = await newAccount();
    const ahead = 8_000_000_000_000_000n;
    await setId(account, String(ahead));
    expect(await take(account, 3)).toBe(ahead + 3n);
    expect(await take(account)).toBe(ahead + 4n);
  });

  it('begin above the floor, which rises when the database went back', async () => {
    const account = await newAccount();
    await setId(account, '41');
    const floor = 7_000_000_000_000_000n;
    await account.query(
      `insert into mirror_sync.installation (created_at, change_floor) values (now(), ${floor})`,
    );
    try {
      expect(await take(account, 2)).toBe(floor + 2n);
      expect(await take(account)).toBe(floor + 3n);
    } finally {
      await account.query('delete from mirror_sync.installation');
    }
  });

  it('are rolled back with a transaction that lasts longer than a minute from the first of them', async () => {
    const account = await newAccount();
    let now = 0;
    const lasting = (ms: number): Promise<bigint> => {
      const { db } = account.database;
      return fenced(
        db,
        account.fence,
        async (trx) => {
          now += 10 * LONGEST_WITH_IDS; // before the first ID it may last
          const id = await takeChangeIds(trx, account.fence.userId, 1);
          now += ms;
          return id;
        },
        () => now,
      );
    };
    const before = await lasting(LONGEST_WITH_IDS);
    await expect(lasting(LONGEST_WITH_IDS + 1)).rejects.toThrow(/longer than 60 s/);
    // The next one takes the same number, which no reader has seen.
    expect(await lasting(0)).toBe(before + 1n);
  });

  it('are taken in fenced transactions only', async () => {
    const { database, fence } = await newAccount();
    const outside = database.db.transaction((trx) => takeChangeIds(trx, fence.userId, 1));
    await expect(outside).rejects.toThrow(/fenced transactions only/);
    const { rows } = await database.db.sql<{ n: string }>`
      select count(*) as n from mirror_sync.account where _user_id = ${fence.userId}`;
    expect(rows).toEqual([{ n: '1' }]);
  });
});
