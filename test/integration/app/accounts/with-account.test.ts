import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AccountUse, withAccount } from '../../../../src/app/accounts/with-account.ts';
import { DatabaseWentBack } from '../../../../src/model/errors.ts';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
beforeEach(async () => {
  account = await createTestAccount();
  await account.current.close();
});
afterEach(() => account.close());

const use = (work: () => Promise<string>): Promise<AccountUse<string>> => {
  const { keys } = account.config.service;
  const userId = String(account.sandbox.userId);
  return withAccount(account.parts, { userId, keys, signal: new AbortController().signal }, work);
};
const DONE = { state: 'done', result: 'done' };

describe('an account that is opened where the database went back while nobody had it', () => {
  it('is read again, and what is queued is held: it may have been sent', async () => {
    expect(await use(() => Promise.resolve('done'))).toEqual(DONE);
    await account.query(`update mirror_sync.account set change_id = change_id + 10`);
    expect(await use(() => Promise.resolve('done'))).toEqual(DONE);
    await account.query(`
      update mirror_sync.account set change_id = change_id - 10;
      insert into mirror.submissions (_user_id, operation, payload, created_at)
        select _user_id, 'research', '{}', now() from mirror_sync.account`);

    await expect(use(() => Promise.reject(new Error('it was opened')))).rejects.toBeInstanceOf(
      DatabaseWentBack,
    );
    expect(await account.query('select reason from mirror.recoveries')).toHaveLength(1);
    expect(await account.query('select state from mirror.submissions')).toEqual([{ state: 'held' }]);

    // Once that is known, the account is opened, and read again.
    expect(await use(() => Promise.resolve('done'))).toEqual(DONE);
    expect(await account.query('select reason from mirror.recoveries')).toHaveLength(1);
  });
});
