import { afterEach, describe, expect, it } from 'vitest';
import { accountsService, type AccountsService } from '../../../src/account/accounts-service.ts';
import { Secret } from '../../../src/config/secret.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
let service: AccountsService;
afterEach(async () => {
  await service.stop();
  await account.close();
});

describe('keys of one account that are met at the same time', () => {
  it('are found one by one, and end in one runner with all of them', async () => {
    // Slow enough that a runner still ends while the next key is found.
    const keys = ['a', 'b', 'c', 'd'];
    account = await createTestAccount({
      keys: keys.map((key) => `${key}=1001`).join(','),
      latencyMin: 100,
      latencyMax: 200,
    });
    await account.current.close();
    service = accountsService(
      account.parts,
      keys.map((key) => new Secret(key)),
    );
    await service.start();
    await eventually('all keys to be known', async () => {
      const known = await account.query('select from mirror_sync.api_key where _user_id is not null');
      return known.length === keys.length;
    });
    await eventually('the account to run with all keys', () => {
      const running = service.runners()[0]?.current();
      return running?.source.keys.length === keys.length && running;
    });
    expect(service.runners()).toHaveLength(1);
    expect(service.unknownKeys().size).toBe(0);
    await service.stop();
    expect(await account.query('select owner from mirror_sync.account')).toEqual([{ owner: null }]);
  });
});
