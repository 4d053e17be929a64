import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createFrozenAccount, type TestAccount } from '../support/sync/read-account.ts';

const GRACE_PERIOD_MS = 1_000;

let test: TestAccount;
afterEach(() => test.close());

/** Read once, older than the grace period. */
async function mirrored(switches: Partial<SandboxOptions> = {}): Promise<void> {
  test = await createFrozenAccount(switches, systemClock, { MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s` });
  for (const name of ['research_jobs', 'lists', 'list_items', 'watchlist'] as const) {
    expect((await test.read(name, 'full')).error).toBeUndefined();
  }
  await systemClock.sleep(GRACE_PERIOD_MS + 100);
}

async function ids(collection: 'research_jobs' | 'lists' | 'watchlist'): Promise<string[]> {
  const key = { research_jobs: 'job_id', lists: 'list_id', watchlist: 'id' }[collection];
  const truth = await test.sandbox.control.truth({ collection });
  return truth.map((text) => String((JSON.parse(text) as Record<string, unknown>)[key]));
}

async function deleted(table: string, key: string): Promise<string[]> {
  const rows = await test.query<{ key: string }>(
    `select ${key}::text as key from mirror.${table} where _deleted_at is not null order by ${key}`,
  );
  return rows.map((row) => row.key);
}

const remove = (
  collection: 'research_jobs' | 'lists' | 'watchlist',
  ...gone: readonly unknown[]
): Promise<unknown> =>
  test.sandbox.control.mutate(...gone.map((id) => ({ op: 'delete', collection, id: String(id) }) as const));

/** Jobs change and keep their place between unchanged ones: what earns an order trust. */
async function trusted(all: readonly string[]): Promise<void> {
  for (const place of [10, 20, 30]) {
    const id = String(all[place]);
    await test.sandbox.control.mutate({ op: 'update', collection: 'research_jobs', id, fields: { x: 1 } });
  }
  await test.read('research_jobs', 'full');
}

const confirm = (name: 'research_jobs' | 'lists' | 'watchlist') =>
  test.current.reader.confirmDeletions(name, new AbortController().signal);

async function isComplete(collection: string): Promise<boolean | undefined> {
  const [row] = await test.query<{ complete: boolean }>(
    `select complete_as_of > now() - interval '1 minute' as complete from mirror.freshness where collection = '${collection}'`,
  );
  return row?.complete;
}

describe('a full reading', () => {
  it.each(['falling', 'rising', 'last-updated', 'unordered'] as const)(
    'deletes what is gone from many pages: order %s',
    async (order) => {
      await mirrored({ order });
      const all = await ids('research_jobs');
      const gone = [all[3], all[60], all[61], all.at(-1)].map(String);
      await remove('research_jobs', ...gone);
      const { error, totals } = await test.read('research_jobs', 'full');
      expect(error).toBeUndefined();
      expect((await deleted('research_jobs', 'job_id')).toSorted()).toEqual(gone.toSorted());
      expect(totals.deleted).toBe(4);
    },
  );

  it('deletes what it missed before it trusted the order', async () => {
    await mirrored({ order: 'falling' });
    const all = await ids('research_jobs');
    const [gone = ''] = all.slice(3);
    const changed = all.slice(100, 300).filter((_, index) => index % 20 === 10);
    await test.sandbox.control.mutate(
      { op: 'delete', collection: 'research_jobs', id: gone },
      ...changed.map((id) => {
        return { op: 'update', collection: 'research_jobs', id, fields: { note: 'x' } } as const;
      }),
    );
    const { error, unproven } = await test.read('research_jobs', 'full');
    expect(error).toBeUndefined();
    expect(unproven).toBe(0);
    expect(await deleted('research_jobs', 'job_id')).toEqual([gone]);
  });

  it('reads only what it missed again where the order is trusted', async () => {
    await mirrored();
    const all = await ids('research_jobs');
    await trusted(all);
    const gone = [all[0], all[140], all[141]].map(String);
    await remove('research_jobs', ...gone);
    const { totals, error } = await test.read('research_jobs', 'full');
    expect(error).toBeUndefined();
    expect(await deleted('research_jobs', 'job_id')).toEqual(gone.toSorted());
    // Six pages, then the top, then what follows the row before the missing ones.
    expect(totals.requests).toBe(6 + 2);
    expect(await isComplete('research_jobs')).toBe(true);
  });
});

describe('a full reading of many lists', () => {
  it('waits for all of them together, and holds up neither polls nor other lists', async () => {
    await mirrored({ lists: 30 });
    const lists = await ids('lists');
    for (const list of lists) {
      const [text = ''] = await test.sandbox.control.truth({ collection: 'list_items', list });
      const { id } = JSON.parse(text) as { id: string | number };
      await test.sandbox.control.mutate({ op: 'delete', collection: 'list_items', list, id: String(id) });
    }
    test.asked.length = 0;
    const reading = test.read('list_items', 'full');
    await eventually('the wait', () => test.waits.length > 0);
    expect(test.asked).toHaveLength(30);
    expect((await test.read('watchlist', 'poll')).error).toBeUndefined();
    // Where this one is slow, it is itself a second reading of some.
    const polled = await test.read('list_items', 'poll');
    expect(polled.error).toBeUndefined();
    const { totals, error, unproven } = await reading;
    expect({ error, unproven, waits: test.waits.length }).toEqual({
      error: undefined,
      unproven: 0,
      waits: 1,
    });
    expect(totals.deleted + polled.totals.deleted).toBe(30);
    expect(await deleted('list_items', 'id')).toHaveLength(30);
    expect(await isComplete('list_items')).toBe(true);
  });
});

describe('a list that the service does not know any more', () => {
  it('puts its row in doubt, once; the row goes when it is ripe', async () => {
    await mirrored({ lists: 5 });
    const [gone = ''] = await ids('lists');
    await remove('lists', gone);
    test.asked.length = 0;
    expect((await test.read('list_items', 'poll')).suspects).toContain('lists');
    await test.read('list_items', 'poll');
    expect(test.asked.filter((path) => path.startsWith('/v1/lists?'))).toHaveLength(1);

    const { againMs } = await confirm('lists');
    expect(againMs).toBeGreaterThan(0);
    expect(await deleted('lists', 'list_id')).toEqual([]);
    await systemClock.sleep(againMs ?? 0);
    expect((await confirm('lists')).totals.deleted).toBe(1);
    expect(await deleted('lists', 'list_id')).toEqual([gone]);
    expect(await deleted('list_items', 'id')).toHaveLength(10);
  });

  it('goes at once where its row was in doubt already, and is counted where it was found out', async () => {
    await mirrored({ lists: 5 });
    const [gone = ''] = await ids('lists');
    await remove('lists', gone);
    expect((await test.read('lists', 'poll')).totals.deleted).toBe(0);
    await systemClock.sleep(GRACE_PERIOD_MS + 100);
    test.asked.length = 0;
    const { totals } = await test.read('list_items', 'poll');
    expect(await deleted('lists', 'list_id')).toEqual([gone]);
    expect(totals.along).toEqual(
      new Map([
        ['list_items', 10],
        ['lists', 1],
      ]),
    );
    // Whose the lists are was proven before they went: no request of a walk.
    const pings = test.asked.filter((path) => path === '/v1/ping').length;
    expect(totals).toMatchObject({ deleted: 0, requests: test.asked.length - pings });
    expect(pings).toBe(1);
  });
});

describe('doubts', () => {
  it('that no second reading can settle are not read again and again', async () => {
    await mirrored({ order: 'unordered' });
    const all = await ids('research_jobs');
    await remove('research_jobs', all[7]);
    // A full walk that is stopped in its grace period leaves what only another whole walk can prove.
    const stop = new AbortController();
    const reading = test.read('research_jobs', 'full', stop.signal);
    await eventually('the wait', () => test.waits.length > 0);
    stop.abort(new Stopped('the test'));
    await expect(reading).rejects.toThrow('the test');
    await test.reopen();
    await systemClock.sleep(GRACE_PERIOD_MS + 100);
    test.asked.length = 0;
    for (let times = 0; times < 3; times += 1)
      expect((await confirm('research_jobs')).againMs).toBeUndefined();
    expect(test.asked).toEqual([]);
    // The next full reading finds the first one's sequence again.
    const { totals } = await test.read('research_jobs', 'full');
    expect(totals).toMatchObject({ deleted: 1, requests: 6 });
  });

  it('that a second reading could have settled, and did not, are left to the next full walk', async () => {
    await mirrored({ watchlist: 45 });
    const [id = ''] = await ids('watchlist');
    await remove('watchlist', id);
    expect((await test.read('watchlist', 'poll')).suspects).toEqual(['watchlist']);
    // From now on no answer is the whole list.
    const insert = { op: 'insert', collection: 'watchlist', fields: {} } as const;
    await test.sandbox.control.mutate(...Array.from({ length: 20 }, () => insert));
    await systemClock.sleep(GRACE_PERIOD_MS + 100);
    const asked = async (): Promise<number> => {
      test.asked.length = 0;
      expect((await confirm('watchlist')).againMs).toBeUndefined();
      return test.asked.length;
    };
    expect(await asked()).toBeGreaterThan(0);
    expect(await deleted('watchlist', 'id')).toEqual([]);
    expect(await asked()).toBe(0);
    await test.read('watchlist', 'full');
    expect(await deleted('watchlist', 'id')).toEqual([id]);
  });

  it('of a full walk that was broken off wait until it has been read to its end', async () => {
    await mirrored();
    const all = await ids('research_jobs');
    await trusted(all);
    await remove('research_jobs', all[60]);
    const stop = new AbortController();
    test.asked.length = 0;
    test.onRequest = () => {
      if (test.asked.length === 4) stop.abort(new Stopped('the test'));
    };
    await test.read('research_jobs', 'full', stop.signal);
    test.onRequest = () => {};
    expect(await test.query('select key from mirror_sync.candidate')).toEqual([{ key: String(all[60]) }]);
    await test.reopen();
    await systemClock.sleep(GRACE_PERIOD_MS + 100);
    test.asked.length = 0;
    expect((await confirm('research_jobs')).error).toBeUndefined();
    expect(test.asked).toEqual([]);
    const { totals, error } = await test.read('research_jobs', 'full');
    expect(error).toBeUndefined();
    expect(totals.deleted).toBe(1);
    expect(await deleted('research_jobs', 'job_id')).toEqual([String(all[60])]);
  });
});
