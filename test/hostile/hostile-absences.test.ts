import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../support/sync/read-account.ts';
import { createHostileMirror, type HostileMirror, startHostileService } from './hostile-service.ts';
import { hostileDifferences } from './hostile-truth.ts';

// Answers in which rows are wanting, or older than before: no proof that they are gone, and none that they went back.

let mirror: HostileMirror;
beforeAll(async () => {
  mirror = await createHostileMirror();
});
afterAll(() => mirror.drop());

describe('replicas that lag', () => {
  it('take no row away and bring no old version back', async () => {
    const service = await startHostileService(mirror, { order: 'falling', maxLimit: 7 });
    const { control } = service.sandbox;
    const account = await service.account();
    const user = account.userId;
    const collection = 'research_jobs' as const;
    await account.readAll();
    const keys = (await control.truth({ collection, user })).map((source) => /\d+/.exec(source)?.[0] ?? '');
    // They lag by less than the grace period; so that they lag at all, the data's clock runs.
    await control.clock({ resume: true });
    await control.change({ faultStale: 0.5, staleMs: 400 });
    const signal = new AbortController().signal;
    for (let round = 1; round <= 5; round += 1) {
      for (const id of [keys[1], keys[9], keys[15]]) {
        await control.mutate({ op: 'update', user, collection, id: id ?? '', fields: { round } });
      }
      await control.mutate({ op: 'insert', user, collection, fields: { round: 0 } });
      await account.reader.read(collection, { what: round % 2 === 0 ? 'full' : 'current', signal });
    }
    await control.clock({ freeze: true });
    expect((await control.counters()).byFault['faultStale']).toBeGreaterThan(3);
    const { rows } = await sql<{ rounds: number[]; deleted: boolean }>`
      select array_agg(coalesce((_raw ->> 'round')::int, 0) order by _valid_from) as rounds,
        bool_or(_op = 'delete') as deleted
      from mirror.research_jobs_history where _user_id = ${user} group by job_id`.execute(mirror.kysely);
    expect(rows.length).toBeGreaterThan(0);
    for (const { rounds, deleted } of rows) {
      // What was stored once and is not any more stays so. A version that nobody had read can come late: rows tell no time.
      expect(rounds).toHaveLength(new Set(rounds).size);
      expect(deleted).toBe(false);
    }
    await control.change({ faultStale: 0 });
    await account.readAll();
    expect(await hostileDifferences(service, user)).toEqual([]);
    await account.close();
    await service.close();
  });
});

describe('a list that is deleted while its row is still mirrored', () => {
  it('answers 404, and takes no row with it', async () => {
    const service = await startHostileService(mirror, { deletedList: '404' });
    const account = await service.account();
    await account.readAll();
    const user = account.userId;
    const [list = ''] = await service.sandbox.control.truth({ collection: 'lists', user });
    const id = String((JSON.parse(list) as { list_id: number }).list_id);
    await service.sandbox.control.mutate({ op: 'delete', user, collection: 'lists', id });
    const signal = new AbortController().signal;
    expect(await account.reader.read('list_items', { what: 'full', signal })).toMatchObject({
      error: undefined,
    });
    await service.sandbox.control.mutate({ op: 'restore', user, collection: 'lists', id });
    expect(await hostileDifferences(service, user)).toEqual([]);
    await account.close();
    await service.close();
  });
});

describe('a list that is deleted, answers empty, and whose row is still mirrored', () => {
  const GRACE_PERIOD_MS = 1_000;
  let account: TestAccount;
  let id: string;
  let change: (op: 'delete' | 'restore') => Promise<void>;
  beforeEach(async () => {
    account = await createTestAccount({ deletedList: 'empty' }, systemClock, {
      MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s`,
    });
    const { control } = account.sandbox;
    await control.clock({ freeze: true });
    for (const name of COLLECTION_NAMES) expect((await account.read(name, 'full')).error).toBeUndefined();
    const [list = ''] = await control.truth({ collection: 'lists' });
    id = String((JSON.parse(list) as { list_id: number }).list_id);
    change = async (op) => {
      await control.mutate({ op, collection: 'lists', id });
    };
    // Old enough for the first answer to be a proof.
    await account.query(`update mirror.list_items set _changed_at = clock_timestamp() - interval '1 hour'`);
    expect(await differencesNow()).toEqual([]);
    await change('delete');
  });
  afterEach(() => account.close());

  const differencesNow = (): Promise<string[]> => hostileDifferences(account, account.sandbox.userId);
  const itemsOf = async (table: string): Promise<number> => {
    const [row] = await account.query<{ items: number }>(`select count(*)::int as items from ${table}`);
    return row?.items ?? 0;
  };
  const live = (): Promise<number> =>
    itemsOf(`mirror.list_items where list_id = ${id} and _deleted_at is null`);
  const suspects = (): Promise<number> => itemsOf('mirror_sync.candidate');

  it('takes no row with one answer', async () => {
    const items = await live();
    expect((await account.read('list_items', 'poll')).error).toBeUndefined();
    expect([await suspects(), await live()]).toEqual([items, items]);
    await change('restore');
    expect(await differencesNow()).toEqual([]);
    await account.read('list_items', 'poll');
    expect(await suspects()).toBe(0);
  });

  it('takes no row where it is back before the second answer', async () => {
    let asked = 0;
    account.onRequest = async (path) => {
      if (!path.startsWith(`/v1/lists/${id}`)) return;
      asked += 1;
      if (asked === 2) await change('restore');
    };
    expect((await account.read('list_items', 'full')).error).toBeUndefined();
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(await suspects()).toBe(0);
    expect(await differencesNow()).toEqual([]);
  });

  it('takes its rows with a second answer, the grace period after the first, and they come back with it', async () => {
    const items = await live();
    const asked: { readonly at: number; readonly live: number }[] = [];
    account.onRequest = async (path) => {
      if (path.startsWith(`/v1/lists/${id}`)) asked.push({ at: Date.now(), live: await live() });
    };
    expect((await account.read('list_items', 'full')).totals.deleted).toBe(items);
    // Whenever it was asked all rows were there yet.
    expect(asked.map((each) => each.live)).toEqual(asked.map(() => items));
    expect(asked.length).toBeGreaterThanOrEqual(2);
    expect((asked.at(-1)?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThanOrEqual(GRACE_PERIOD_MS);
    await change('restore');
    await account.read('list_items', 'full');
    expect(await differencesNow()).toEqual([]);
  });
});
