import { afterEach, beforeEach, expect, it } from 'vitest';
import { accountsService, type AccountsService } from '../../../../src/app/accounts/accounts-service.ts';
import { pauseKeeper } from '../../../../src/app/daemon/pause-keeper.ts';
import { databaseTime } from '../../../../src/db/connection/database-time.ts';
import { removeData, retireAccount } from '../../../../src/db/accounts/retired-accounts.ts';
import type { Service } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
let service: AccountsService;
let keeper: Service;
beforeEach(async () => {
  account = await createTestAccount();
  await account.current.close();
  service = accountsService(account.parts, account.config.service.keys);
  keeper = pauseKeeper(account.parts, service);
  await service.start();
  await eventually('the account to run', () => service.runners()[0]?.current());
});
afterEach(async () => {
  await keeper.stop();
  await service.stop();
  await account.close();
});

it('an account that is retired is given up and gets no row any more, also where its data go at once', async () => {
  const { db } = account.database;
  const userId = String(account.sandbox.userId);
  expect(await retireAccount(db, userId, await databaseTime(db))).toBe('done');
  await removeData(db, userId, () => {});
  await keeper.start();
  await eventually('it to be given up', () => service.runners()[0]?.current() === undefined);
  const [state] = await account.query('select state, owner from mirror_sync.account');
  expect(state).toEqual({ state: 'retired', owner: null });
  for (const table of ['mirror._collections', 'mirror.research_jobs', 'mirror_sync.scope']) {
    expect(await account.query(`select from ${table}`)).toEqual([]);
  }
});
