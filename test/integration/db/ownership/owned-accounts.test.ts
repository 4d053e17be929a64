import { expect, it } from 'vitest';
import { OwnedAccounts } from '../../../../src/db/ownership/owned-accounts.ts';
import type { Fence } from '../../../../src/model/fence.ts';
import { installed } from '../../../support/databases/installed.ts';

const scene = installed();
const { run } = scene;

it('a process gives up accounts that name it while it does not work on them, at the second look', async () => {
  const owned = new OwnedAccounts();
  const eight: Fence = { userId: '8', owner: 'owner', token: '1' };
  const look = (): Promise<string[]> => owned.releaseStrays(scene.database.db, 'owner');
  // It works on the one; the other's row went back to when it did. A third is another process's.
  owned.add(eight);
  await run(
    `insert into mirror_sync.account (_user_id, owner, token, created_at) values (9, 'other', 1, now())`,
  );
  expect(await look()).toEqual([]);
  expect(await look()).toEqual(['7']);
  expect(await run('select _user_id, owner, token from mirror_sync.account order by 1')).toEqual([
    { _user_id: '7', owner: null, token: '1' },
    { _user_id: '8', owner: 'owner', token: '1' },
    { _user_id: '9', owner: 'other', token: '1' },
  ]);
  // What it takes between two looks is not known here at the first of them.
  await run(`update mirror_sync.account set owner = 'owner', token = 2 where _user_id = 7`);
  expect(await look()).toEqual([]);
  owned.add({ userId: '7', owner: 'owner', token: '2' });
  expect(await look()).toEqual([]);
  owned.remove(eight);
  expect([await look(), await look()]).toEqual([[], ['8']]);
  // Several at a time; not what it has taken anew since the look before.
  await run(`update mirror_sync.account set owner = 'owner', token = 5`);
  expect(await look()).toEqual([]);
  await run(`update mirror_sync.account set token = 6 where _user_id = 9`);
  owned.add({ userId: '7', owner: 'owner', token: '4' });
  expect((await look()).toSorted()).toEqual(['7', '8']);
  expect(await run('select owner from mirror_sync.account where _user_id = 9')).toEqual([{ owner: 'owner' }]);
});

it('a process ends its work on accounts whose row names it no more, though it has nothing to write', async () => {
  const owned = new OwnedAccounts();
  const ended: string[] = [];
  const fences = ['7', '8'].map((userId): Fence => ({ userId, owner: 'owner', token: '1' }));
  for (const fence of fences) owned.add(fence, () => void ended.push(fence.userId));
  const look = (): Promise<string[]> => owned.releaseStrays(scene.database.db, 'owner');
  await look();
  expect(ended).toEqual([]);
  // As whoever notices that the database went back does with all accounts.
  await run('update mirror_sync.account set owner = null, token = token + 1 where _user_id = 7');
  await look();
  expect(ended).toEqual(['7']);
  await run(`update mirror_sync.account set owner = 'other', token = 2 where _user_id = 8`);
  for (const fence of fences.slice(0, 1)) owned.remove(fence);
  await look();
  expect(ended).toEqual(['7', '8']);
});
