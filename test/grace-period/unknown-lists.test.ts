import { beforeEach, describe, expect, it } from 'vitest';
import { RequestRefused } from '../../src/model/errors.ts';
import type { TestAccount } from '../support/sync/read-account.ts';
import { gracedAccount, graceOver } from './graced-account.ts';

const { mirrored, read, readWell, ids, remove, confirm, freshness } = gracedAccount();
let account: TestAccount;
let list: string;
beforeEach(async () => {
  account = await mirrored({}, ['lists', 'list_items']);
  [list = ''] = await ids('lists');
});

describe('a list that is shown among the lists', () => {
  const refuse = (status: number): void => {
    account.onRequest = (path) => {
      if (path.startsWith(`/v1/lists/${list}`))
        throw new RequestRefused(`GET /v1/lists/${list} returned ${status}: no`, status);
    };
  };

  it.each([404, 410])('and whose items are answered with %s is failing until it is read', async (status) => {
    const before = await account.query<{ polled_at: Date; complete_as_of: Date }>(
      `select polled_at, complete_as_of from mirror_sync.scope where collection = 'list_items' and parent = '${list}'`,
    );
    refuse(status);
    const reason = `list ${list}: GET /v1/lists/${list} returns ${status}, although /v1/lists shows it`;
    for (const what of ['poll', 'full', 'poll'] as const) {
      expect((await read('list_items', what)).error?.message).toBe(reason);
      const now = await freshness('list_items');
      expect(now).toMatchObject({ state: 'failing', last_error: reason });
      for (const moment of ['polled_at', 'complete_as_of'] as const)
        expect(Number(now?.[moment])).toBeLessThanOrEqual(Number(before[0]?.[moment]));
    }
    // Other lists that came due say nothing of this one.
    const { signal } = new AbortController();
    expect((await account.current.reader.readDue('list_items', signal)).error?.message).toBeUndefined();
    expect(await freshness('list_items')).toMatchObject({ state: 'failing', last_error: reason });

    account.onRequest = () => {};
    await readWell('list_items', 'poll');
    expect(await freshness('list_items')).toMatchObject({ state: 'current', last_error: null });
  });

  it('and is forbidden is failing, however many others are read', async () => {
    refuse(403);
    for (let times = 0; times < 2; times += 1) {
      expect((await read('list_items', 'poll')).error?.message).toContain('403');
      expect(await freshness('list_items')).toMatchObject({ state: 'failing' });
    }
  });
});

describe('a list that is deleted before its row is', () => {
  it('is no failure where items of it wait for a second proof', async () => {
    const [id = ''] = await ids('list_items', list);
    await account.sandbox.control.mutate({ op: 'delete', collection: 'list_items', list, id });
    await read('list_items', 'poll');
    await remove('lists', list);
    await graceOver();
    await readWell('list_items');
    await account.reopen();
    expect((await confirm('list_items')).error).toBeUndefined();
  });

  it('and whose row is gone by no proof so far is no failure until a full walk of the lists was made', async () => {
    await remove('lists', list);
    await account.sandbox.control.change({ maxLimit: 1 });
    await account.query(`update mirror_sync.scope set memory = '{}' where collection = 'lists'`);
    await account.reopen();
    expect(await readWell('list_items', 'poll')).toMatchObject({ fullWalks: ['lists'] });
    expect(await freshness('list_items')).toMatchObject({ state: 'current' });
  });
});
