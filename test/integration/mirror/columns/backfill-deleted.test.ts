import { describe, expect, it } from 'vitest';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { MirrorOptions } from '../../../../src/mirror/mirror.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { databaseForEach } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

/** A batch is smaller. */
const ROWS = 1_200;

const own = databaseForEach();

/** Rows with a field that waits for its column; another page then adds the column. */
async function withWaitingColumn(options: Partial<MirrorOptions>): Promise<MirroredAccount> {
  const raw = await MirroredAccount.make(own, '1', { ...options, schemaDrift: 'raw' });
  await raw.page('research_jobs', jobs(1, ROWS));
  await raw.page('lists', '[{"list_id":1},{"list_id":2}]');
  await raw.page('list_items', items(1, ROWS), { parent: '1' });
  await raw.page('list_items', items(2_001, 5), { parent: '2' });
  return MirroredAccount.make(own, '1', options);
}

const numbered = (key: string) => (first: number, count: number) =>
  `[${Array.from({ length: count }, (_, i) => `{"${key}":${first + i},"size":${first + i}}`).join()}]`;
const jobs = numbered('job_id');
const items = numbered('id');

const fillAll = async (account: MirroredAccount): Promise<void> => {
  while (await account.mirror.backfill(account.fence));
};

/** Rows and versions whose column differs from their item. */
async function unfilled(account: MirroredAccount, name: CollectionName): Promise<readonly string[]> {
  const differs = `and size is distinct from (_raw ->> 'size')::numeric`;
  const [rows, versions] = [`mirror.${name}`, `mirror.${name}_history`];
  return [
    ...(await account.rowsOf('_change_id', rows, differs)),
    ...(await account.rowsOf('_change_id', versions, differs)),
  ];
}

const gone = async (account: MirroredAccount, name: CollectionName): Promise<number> =>
  (await account.rowsOf('1', `mirror.${name}_history`, `and _op = 'delete'`)).length;

describe('late columns of deleted rows', () => {
  it.each(['soft', 'hard'] as const)(
    'are filled if the row is deleted between two batches (MIRROR_DELETES=%s)',
    async (deletes) => {
      const account = await withWaitingColumn({ deletes });
      await account.page('research_jobs', jobs(5_000, 1));
      // Before each batch ten rows at the beginning and ten at the end are deleted.
      for (let from = 1, left = ROWS; await account.mirror.backfill(account.fence); left -= 10) {
        from += 10;
        await deleteAllBut(account, 'research_jobs', jobs(from, left - from), { accept: true });
        if (left < 1_100) break;
      }
      await fillAll(account);
      expect(await gone(account, 'research_jobs')).toBeGreaterThan(100);
      expect(await unfilled(account, 'research_jobs')).toEqual([]);
    },
  );

  it.each(['soft', 'hard'] as const)(
    'are filled if the row is deleted with its list (MIRROR_DELETES=%s)',
    async (deletes) => {
      const account = await withWaitingColumn({ deletes });
      await account.page('list_items', items(2_006, 1), { parent: '2' });
      expect(await account.mirror.backfill(account.fence)).toBe(true);
      await deleteAllBut(account, 'lists', '[{"list_id":2}]', { accept: true });
      await fillAll(account);
      expect(await gone(account, 'list_items')).toBe(ROWS);
      expect(await unfilled(account, 'list_items')).toEqual([]);
    },
  );

  it('are filled if the row comes back during the backfill', async () => {
    const account = await withWaitingColumn({});
    await account.page('research_jobs', jobs(5_000, 1));
    await deleteAllBut(account, 'research_jobs', jobs(1, 600), { accept: true });
    expect(await account.mirror.backfill(account.fence)).toBe(true);
    await account.age(account.gracePeriodMs);
    await account.page('research_jobs', jobs(601, 10));
    await fillAll(account);
    expect(await unfilled(account, 'research_jobs')).toEqual([]);
  });

  it('count values that do not fit once', async () => {
    const account = await withWaitingColumn({ history: false });
    const raw = await MirroredAccount.make(own, '1', { schemaDrift: 'raw' });
    await raw.page('research_jobs', '[{"job_id":1,"size":"big"}]');
    await account.page('research_jobs', '[{"job_id":5000,"size":"huge"},{"job_id":5001,"size":1}]');
    const conflicts = `select conflicts from mirror.columns where collection = 'research_jobs' and field = 'size'`;
    expect(await account.query(conflicts)).toEqual([{ conflicts: '1' }]);
    // The row with the first change ID that is left is filled now; then it and the one that came with it are deleted.
    for (let batches = 0; batches < 3; batches += 1) await account.mirror.backfill(account.fence);
    await deleteAllBut(account, 'research_jobs', jobs(2, ROWS - 1), { accept: true });
    await fillAll(account);
    expect(await account.query(conflicts)).toEqual([{ conflicts: '2' }]);
  });
});

it('a late column is filled in the account’s own row, which has no other key', async () => {
  const raw = await MirroredAccount.make(own, '1', { schemaDrift: 'raw' });
  await raw.page('account', '[{"user_id":1,"size":5}]');
  await raw.page('account', '[{"user_id":1,"size":6}]');
  const account = await MirroredAccount.make(own, '1');
  await account.page('account', '[{"user_id":1,"size":7}]');
  await fillAll(account);
  expect(await unfilled(account, 'account')).toEqual([]);
  expect(await account.query('select size from mirror.account_history order by size')).toHaveLength(2);
});
