import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RequestRefused } from '../../src/model/errors.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createFrozenAccount, type TestAccount } from '../support/sync/read-account.ts';

const GRACE_PERIOD_MS = 1_000;

let account: TestAccount;
beforeEach(async () => {
  account = await createFrozenAccount({}, systemClock, { MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s` });
  for (const name of ['lists', 'list_items'] as const) {
    expect((await account.read(name, 'full')).error).toBeUndefined();
  }
});
afterEach(() => account.close());

interface Freshness {
  readonly state: string;
  readonly last_error: string | null;
  readonly polled_at: Date;
  readonly complete_as_of: Date;
}

async function freshness(): Promise<Freshness | undefined> {
  const [row] = await account.query<Freshness>(
    `select state, last_error, polled_at, complete_as_of from mirror.freshness where collection = 'list_items'`,
  );
  return row;
}

/** As of when the list's items are mirrored, milliseconds. */
async function lastRead(list: string): Promise<{ readonly polledAt: number; readonly completeAsOf: number }> {
  const [row] = await account.query<{ polled_at: Date; complete_as_of: Date }>(
    `select polled_at, complete_as_of from mirror_sync.scope where collection = 'list_items' and parent = '${list}'`,
  );
  return { polledAt: row?.polled_at.getTime() ?? 0, completeAsOf: row?.complete_as_of.getTime() ?? 0 };
}

async function firstList(): Promise<string> {
  const [text = ''] = await account.sandbox.control.truth({ collection: 'lists' });
  return String((JSON.parse(text) as { list_id: number }).list_id);
}

/** Answers with `status` whenever items of the list are asked for. */
function refuse(list: string, status: number): void {
  account.onRequest = (path) => {
    if (!path.startsWith(`/v1/lists/${list}`)) return;
    throw new RequestRefused(`GET /v1/lists/${list} was answered ${status}: no`, status);
  };
}

describe('a list that is shown among the lists', () => {
  it.each([404, 410])('and whose items are answered with %s is failing until it is read', async (status) => {
    const list = await firstList();
    const read = await lastRead(list);
    refuse(list, status);
    const reason = `list ${list}: GET /v1/lists/${list} answers ${status} although /v1/lists shows it`;
    for (const what of ['poll', 'full', 'poll'] as const) {
      expect((await account.read('list_items', what)).error?.message).toBe(reason);
      expect(await freshness()).toMatchObject({
        state: 'failing',
        last_error: reason,
      });
      const { polled_at: polledAt, complete_as_of: completeAsOf } = (await freshness()) ?? {};
      expect(polledAt?.getTime()).toBeLessThanOrEqual(read.polledAt);
      expect(completeAsOf?.getTime()).toBeLessThanOrEqual(read.completeAsOf);
    }
    // Other lists that came due say nothing of this one.
    expect(
      (await account.current.reader.readDue('list_items', new AbortController().signal)).error?.message,
    ).toBeUndefined();
    expect(await freshness()).toMatchObject({ state: 'failing', last_error: reason });

    account.onRequest = () => {};
    expect((await account.read('list_items', 'poll')).error).toBeUndefined();
    expect(await freshness()).toMatchObject({ state: 'current', last_error: null });
  });

  it('and is forbidden is failing, however many others are read', async () => {
    refuse(await firstList(), 403);
    for (let times = 0; times < 2; times += 1) {
      expect((await account.read('list_items', 'poll')).error?.message).toContain('403');
      expect(await freshness()).toMatchObject({ state: 'failing' });
    }
  });
});

describe('a list that is deleted before its row is', () => {
  it('is no failure: its rows wait for a second proof, and go', async () => {
    const list = await firstList();
    await systemClock.sleep(GRACE_PERIOD_MS);
    await account.sandbox.control.mutate({ op: 'delete', collection: 'lists', id: list });
    const outcome = await account.read('list_items', 'poll');
    expect(outcome).toMatchObject({ error: undefined, suspects: ['lists'] });
    expect(await freshness()).toMatchObject({ state: 'current', last_error: null });
    expect((await account.read('list_items', 'poll')).error).toBeUndefined();

    await account.read('lists', 'full');
    expect(
      await account.query(`select from mirror.lists where list_id = ${list} and _deleted_at is not null`),
    ).toHaveLength(1);
    expect((await account.read('list_items', 'full')).error).toBeUndefined();
    expect(await freshness()).toMatchObject({ state: 'current', last_error: null });
  });

  it('is no failure either where items of it wait for a second proof', async () => {
    const list = await firstList();
    const [item = ''] = await account.sandbox.control.truth({ collection: 'list_items', list });
    const id = String((JSON.parse(item) as { id: number }).id);
    await systemClock.sleep(GRACE_PERIOD_MS);
    await account.sandbox.control.mutate({ op: 'delete', collection: 'list_items', list, id });
    await account.read('list_items', 'poll');
    await account.sandbox.control.mutate({ op: 'delete', collection: 'lists', id: list });
    await systemClock.sleep(GRACE_PERIOD_MS);
    expect((await account.read('list_items', 'full')).error).toBeUndefined();
    const { signal } = new AbortController();
    await account.reopen();
    expect((await account.current.reader.confirmDeletions('list_items', signal)).error).toBeUndefined();
  });

  it('and whose row is gone by no proof so far is no failure until a full walk of the lists was made', async () => {
    const list = await firstList();
    await account.sandbox.control.mutate({ op: 'delete', collection: 'lists', id: list });
    await systemClock.sleep(GRACE_PERIOD_MS);
    await account.sandbox.control.change({ maxLimit: 1 });
    await account.query(`update mirror_sync.scope set memory = '{}' where collection = 'lists'`);
    await account.reopen();
    const outcome = await account.read('list_items', 'poll');
    expect(outcome).toMatchObject({ error: undefined, fullWalks: ['lists'] });
    expect(await freshness()).toMatchObject({ state: 'current' });
  });
});
