import { describe, expect, it } from 'vitest';
import { fenced, LONGEST_WITH_IDS, takeChangeIds } from '../../../src/postgres/fenced.ts';
import type { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

/** An account whose last change ID is `id`. */
async function accountAt(id: bigint): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.query(`update mirror_sync.account set change_id = ${id} where _user_id = ${account.fence.userId}`);
  return account;
}

/** Takes `count` IDs in a transaction of its own. @returns the last one */
const take = ({ database: { db }, fence }: MirroredAccount, count = 1): Promise<bigint> =>
  fenced(db, fence, async (trx) => (await takeChangeIds(trx, fence.userId, count)) + BigInt(count));

async function micros(account: MirroredAccount): Promise<bigint> {
  const [row] = await account.query<{ now: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now',
  );
  return BigInt(row?.now ?? 0);
}

describe('change IDs', () => {
  it('follow the database’s clock, so that they are not reused after an outage', async () => {
    const account = await accountAt(41n);
    const before = await micros(account);
    const id = await take(account, 5);
    expect(id).toBeGreaterThanOrEqual(before + 5n);
    expect(id).toBeLessThanOrEqual((await micros(account)) + 5n);
  });

  it('rise by one each while the clock stands or is behind', async () => {
    const ahead = 8_000_000_000_000_000n;
    const account = await accountAt(ahead);
    expect([await take(account, 3), await take(account)]).toEqual([ahead + 3n, ahead + 4n]);
  });

  it('begin above the floor, which rises when the database went back', async () => {
    const account = await accountAt(41n);
    const floor = 7_000_000_000_000_000n;
    await account.query(`insert into mirror_sync.installation (created_at, change_floor) values (now(), ${floor})`);
    try {
      expect([await take(account, 2), await take(account)]).toEqual([floor + 2n, floor + 3n]);
    } finally {
      await account.query('delete from mirror_sync.installation');
    }
  });

  it('are rolled back with a transaction that lasts longer than a minute from the first of them', async () => {
    const { database, fence } = await newAccount();
    let now = 0;
    const lasting = (ms: number): Promise<bigint> => {
      const work: Parameters<typeof fenced<bigint>>[2] = async (trx) => {
        now += 10 * LONGEST_WITH_IDS; // before the first ID it may last
        const id = await takeChangeIds(trx, fence.userId, 1);
        now += ms;
        return id;
      };
      return fenced(database.db, fence, work, () => now);
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
  });
});
