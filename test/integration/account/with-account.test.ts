import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccountUnservable } from '../../../src/account/account-keys.ts';
import { hashOfKey } from '../../../src/config/secret.ts';
import { takeFor, withAccount } from '../../../src/account/with-account.ts';
import { DatabaseWentBack } from '../../../src/model/errors.ts';
import { readingStarts } from '../../../src/account/reading-loops.ts';
import { Stopped } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
beforeEach(async () => {
  account = await createTestAccount();
  await account.current.close();
});
afterEach(() => account.close());

const DONE = () => Promise.resolve('done');
const use = (work = DONE, more: Partial<Parameters<typeof withAccount>[1]> = {}, parts = account.parts) => {
  const { keys } = account.config.service;
  const userId = String(account.sandbox.userId);
  return withAccount(parts, { userId, keys, signal: new AbortController().signal, ...more }, work);
};
const owner = async () =>
  (await account.query<{ owner: string | null }>('select owner from mirror_sync.account'))[0]?.owner;

describe('an account that is opened after the database went back while it was free', () => {
  it('is read again, and its queued submissions are held: they may have been sent', async () => {
    expect(await use()).toBe('done');
    await account.query(`update mirror_sync.account set change_id = change_id + 10`);
    expect(await use()).toBe('done');
    await account.query(`
      update mirror_sync.account set change_id = change_id - 10;
      insert into mirror.submissions (_user_id, operation, payload, created_at)
        select _user_id, 'research', '{}', now() from mirror_sync.account`);

    const opened = use(() => Promise.reject(new Error('it was opened')));
    await expect(opened).rejects.toBeInstanceOf(DatabaseWentBack);
    expect(await account.query('select reason from mirror.recoveries')).toHaveLength(1);
    expect(await account.query('select state from mirror.submissions')).toEqual([{ state: 'held' }]);

    // Once that is known, the account is opened, and read again.
    expect(await use()).toBe('done');
    expect(await account.query('select reason from mirror.recoveries')).toHaveLength(1);
  });
});

describe('an account that was taken and is not open yet', () => {
  const strays = (): Promise<string[]> => account.parts.owned.releaseStrays(account.parts.db, account.parts.processId);

  it('stays taken while it waits for a place, and is released if a stop ends the wait', async () => {
    // As long as no time passes, nobody gives a place up.
    const starts = readingStarts(new VirtualClock());
    const others = Promise.withResolvers<string>();
    const inFront = Array.from({ length: 16 }, () => starts.begin(() => others.promise, new AbortController().signal));
    let told = 0;
    const parts = { ...account.parts, starts, onReleased: async () => void (told += 1) };
    const stop = new AbortController();
    const used = use(DONE, { signal: stop.signal }, parts);
    used.catch(() => {});
    await eventually('it to be taken', async () => (await owner()) === 'tests');
    expect([await strays(), await strays(), await strays()]).toEqual([[], [], []]);
    expect(await owner()).toBe('tests');

    stop.abort(new Stopped('the daemon'));
    await expect(used).rejects.toThrow(Stopped);
    expect(await owner()).toBeNull();
    expect(told).toBe(1);
    others.resolve('');
    await Promise.all(inFront);
  });
});

describe('a key that moved while its account waited for its turn', () => {
  it('is not used: its owner is checked again when the account is taken', async () => {
    const userId = String(account.sandbox.userId);
    const [hash] = account.config.service.keys.map(hashOfKey);
    const take = async () => {
      await account.query(`insert into mirror_sync.api_key (key_hash, _user_id, pinged_at, answered_for)
        values ('${hash}', ${userId}, now(), 99)`);
      return takeFor(account.parts, userId);
    };
    const refused = await use(DONE, { take }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AccountUnservable);
    expect(refused).toMatchObject({ message: expect.stringContaining('account 99') as string });
    expect(await owner()).toBeNull();
  });
});
