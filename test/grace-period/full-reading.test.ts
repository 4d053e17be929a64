import { describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { gracedAccount, graceOver } from './graced-account.ts';

const { mirrored, read, readWell, ids, update, remove, deleted, trust, confirm, freshness, brokenOff } =
  gracedAccount();

describe('a full reading', () => {
  it.each(['falling', 'rising', 'last-updated', 'unordered'] as const)(
    'deletes what is gone from many pages: order %s',
    async (order) => {
      await mirrored({ order });
      const all = await ids('research_jobs');
      const gone = [all[3], all[60], all[61], all.at(-1)].map(String);
      await remove('research_jobs', ...gone);
      expect((await readWell('research_jobs')).totals.deleted).toBe(4);
      expect((await deleted('research_jobs')).toSorted()).toEqual(gone.toSorted());
    },
  );

  it('deletes what it missed before it trusted the order', async () => {
    await mirrored({ order: 'falling' });
    const all = await ids('research_jobs');
    await remove('research_jobs', all[3]);
    await update(...all.slice(100, 300).filter((_, index) => index % 20 === 10));
    expect((await readWell('research_jobs')).unproven).toBe(0);
    expect(await deleted('research_jobs')).toEqual([all[3]]);
  });

  it('reads only what it missed again where the order is trusted', async () => {
    await mirrored();
    const all = await ids('research_jobs');
    await trust(all);
    const gone = [all[0], all[140], all[141]].map(String);
    await remove('research_jobs', ...gone);
    const asOf = Date.now();
    // Six pages, then the top, then what follows the row before the missing ones.
    expect((await readWell('research_jobs')).totals.requests).toBe(6 + 2);
    expect(await deleted('research_jobs')).toEqual(gone.toSorted());
    expect(Number((await freshness('research_jobs'))?.complete_as_of)).toBeGreaterThan(asOf - 60_000);
  });

  it('of many lists waits for all of them together, and holds up neither polls nor other lists', async () => {
    const test = await mirrored({ lists: 30 });
    for (const list of await ids('lists')) {
      const [id = ''] = await ids('list_items', list);
      await test.sandbox.control.mutate({ op: 'delete', collection: 'list_items', list, id });
    }
    test.asked.length = 0;
    const asOf = Date.now();
    const reading = read('list_items', 'full');
    await eventually('the wait', () => test.waits.length > 0);
    expect(test.asked).toHaveLength(30);
    await readWell('watchlist', 'poll');
    // Where this one is slow, it is itself a second reading of some.
    const polled = await readWell('list_items', 'poll');
    const { totals, error, unproven } = await reading;
    expect({ error, unproven, waits: test.waits.length }).toEqual({
      error: undefined,
      unproven: 0,
      waits: 1,
    });
    expect(totals.deleted + polled.totals.deleted).toBe(30);
    expect(await deleted('list_items')).toHaveLength(30);
    expect(Number((await freshness('list_items'))?.complete_as_of)).toBeGreaterThan(asOf - 60_000);
  });
});

describe('doubts', () => {
  it('that no second reading can settle are not read again and again', async () => {
    const test = await mirrored({ order: 'unordered' });
    await remove('research_jobs', (await ids('research_jobs'))[7]);
    // A full walk that is stopped in its grace period leaves what only another whole walk can prove.
    const stop = new AbortController();
    const reading = read('research_jobs', 'full', stop.signal);
    await eventually('the wait', () => test.waits.length > 0);
    stop.abort(new Stopped('the test'));
    await expect(reading).rejects.toThrow('the test');
    await test.reopen();
    await graceOver();
    test.asked.length = 0;
    for (let times = 0; times < 3; times += 1) expect((await confirm('research_jobs')).againMs).toBeUndefined();
    expect(test.asked).toEqual([]);
    // The next full reading finds the first one's sequence again.
    expect((await read('research_jobs', 'full')).totals).toMatchObject({ deleted: 1, requests: 6 });
  });

  it('that a second reading could have settled, and did not, are left to the next full walk', async () => {
    const test = await mirrored({ watchlist: 45 });
    const [id = ''] = await ids('watchlist');
    await remove('watchlist', id);
    expect((await read('watchlist', 'poll')).suspects).toEqual(['watchlist']);
    // From now on no answer is the whole list.
    const insert = { op: 'insert', collection: 'watchlist', fields: {} } as const;
    await test.sandbox.control.mutate(...Array.from({ length: 20 }, () => insert));
    await graceOver();
    const asked = async (): Promise<number> => {
      test.asked.length = 0;
      expect((await confirm('watchlist')).againMs).toBeUndefined();
      return test.asked.length;
    };
    expect(await asked()).toBeGreaterThan(0);
    expect(await deleted('watchlist')).toEqual([]);
    expect(await asked()).toBe(0);
    await read('watchlist', 'full');
    expect(await deleted('watchlist')).toEqual([id]);
  });

  it('of a full walk that was broken off wait until it has been read to its end', async () => {
    const test = await mirrored();
    const all = await ids('research_jobs');
    await trust(all);
    await remove('research_jobs', all[60]);
    await brokenOff(4);
    expect(await test.query('select key from mirror_sync.candidate')).toEqual([{ key: all[60] }]);
    await graceOver();
    expect((await confirm('research_jobs')).error).toBeUndefined();
    expect(test.asked).toEqual([]);
    expect((await readWell('research_jobs')).totals.deleted).toBe(1);
    expect(await deleted('research_jobs')).toEqual([all[60]]);
  });
});

describe('a list that the service does not know any more', () => {
  it('puts its row in doubt, once, and is no failure; the row goes with its items when it is ripe', async () => {
    const test = await mirrored({ lists: 5 });
    const [gone = ''] = await ids('lists');
    await remove('lists', gone);
    test.asked.length = 0;
    expect((await readWell('list_items', 'poll')).suspects).toEqual(['lists']);
    await readWell('list_items', 'poll');
    expect(await freshness('list_items')).toMatchObject({ state: 'current', last_error: null });
    expect(test.asked.filter((path) => path.startsWith('/v1/lists?'))).toHaveLength(1);

    const { againMs } = await confirm('lists');
    expect(againMs).toBeGreaterThan(0);
    expect(await deleted('lists')).toEqual([]);
    await systemClock.sleep(againMs ?? 0);
    expect((await confirm('lists')).totals.deleted).toBe(1);
    expect(await deleted('lists')).toEqual([gone]);
    expect(await deleted('list_items')).toHaveLength(10);
    await readWell('list_items');
    expect(await freshness('list_items')).toMatchObject({ state: 'current', last_error: null });
  });

  it('and that answers empty loses its items by two answers, the grace period apart, until it is back', async () => {
    const test = await mirrored({ deletedList: 'empty' });
    const [list = ''] = await ids('lists');
    await remove('lists', list);
    const asked: number[] = [];
    test.onRequest = async (path) => {
      if (!path.startsWith(`/v1/lists/${list}`)) return;
      asked.push(Date.now());
      expect(await deleted('list_items')).toEqual([]);
    };
    expect((await readWell('list_items')).totals.deleted).toBe(10);
    expect((asked.at(-1) ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(1_000);
    test.onRequest = () => {};
    await test.sandbox.control.mutate({ op: 'restore', collection: 'lists', id: list });
    await readWell('list_items');
    expect(await deleted('list_items')).toEqual([]);
  });

  it('goes at once where its row was in doubt already, and is counted where it was found out', async () => {
    const test = await mirrored({ lists: 5 });
    const [gone = ''] = await ids('lists');
    await remove('lists', gone);
    expect((await read('lists', 'poll')).totals.deleted).toBe(0);
    await graceOver();
    test.asked.length = 0;
    const { totals } = await read('list_items', 'poll');
    expect(await deleted('lists')).toEqual([gone]);
    expect(Object.fromEntries(totals.along)).toEqual({ list_items: 10, lists: 1 });
    // Whose the lists are was proven before they went, by one ping: no request of a walk.
    expect(totals).toMatchObject({ deleted: 0, requests: test.asked.length - 1 });
    expect(test.asked.filter((path) => path === '/v1/ping')).toHaveLength(1);
  });
});
