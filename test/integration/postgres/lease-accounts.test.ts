import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Fence, fenced } from '../../../src/postgres/fenced.ts';
import { ensureAccount, releaseAccount, takeAccount } from '../../../src/postgres/lease.ts';
import { ownIdentity, type ProcessIdentity } from '../../../src/postgres/heartbeat.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import { testDatabase } from '../../support/databases/migrated-database.ts';

const database = testDatabase();
let own: ProcessIdentity;

beforeAll(async () => {
  own = await ownIdentity();
});
beforeEach(async () => {
  await database.db.sql`delete from mirror_sync.account`;
  for (const userId of ['1', '2', '3']) await ensureAccount(database.db, userId, new Date());
});

/** Takes the account. No process has heartbeats here, so that every owner counts as dead. */
async function taken(userId: string, processId: string): Promise<Fence> {
  const result = await takeAccount(database.db, userId, processId, own);
  if (result.state !== 'taken') throw new Error(`owned by ${result.by.processId}`);
  return result.fence;
}

async function owners(): Promise<string> {
  const { rows } = await database.db.sql<{ owner: string | null; token: string }>`
    select owner, token from mirror_sync.account order by _user_id`;
  return rows.map(({ owner, token }) => `${owner ?? '-'}${token}`).join(' ');
}

const write = (fence: Fence): Promise<string> => fenced(database.db, fence, () => Promise.resolve('written'));

describe('of several accounts', () => {
  it('a lost one gets no more writes, even if its owner holds another under an equal token', async () => {
    const [first, second] = [await taken('1', 'A'), await taken('2', 'A')];
    expect(first.token).toBe(second.token);
    await taken('1', 'B');
    await expect(write(first)).rejects.toThrow(LeaseLost);
    expect(await write(second)).toBe('written');
    await releaseAccount(database.db, first);
    expect(await owners()).toBe('B2 A1 -0');
  });

  it('a lost one gets no writes under its old token, even if the same process has taken it again', async () => {
    const before = await taken('1', 'A');
    const again = await taken('1', 'A');
    await expect(write(before)).rejects.toThrow(LeaseLost);
    expect(await write(again)).toBe('written');
  });
});
