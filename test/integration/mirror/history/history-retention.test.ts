import { beforeAll, describe, expect, it, vi } from 'vitest';
import { pruneHistory } from '../../../../src/mirror/history.ts';
import { accountsWithHistory } from '../../../support/mirror/accounts-with-history.ts';
import { lines } from '../../../support/mirror/lines.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const scene = accountsWithHistory();
const { open } = scene;

beforeAll(async () => {
  await open(scene.first);
  await open(scene.second);
});

const coverage = (account = scene.second) =>
  account.rowsOf('collection, mirrored_from::text, history_from::text', 'mirror._collections');

describe('retention of history (MIRROR_HISTORY=400d)', () => {
  const HOUR = 3_600_000;
  const prune = (keepMs: number, signal = new AbortController().signal) =>
    pruneHistory(scene.database.db, scene.second.fence, keepMs, signal);
  const kept = (account: MirroredAccount) =>
    account.rowsOf(`list_id, _raw -> 'n' as n`, 'mirror.lists_history', 'order by _valid_to');
  const asOf = (hours: number) =>
    lines(scene.second, `select _raw -> 'n' from mirror.lists_as_of(now() - interval '${hours} hours')`);
  const since = (account: MirroredAccount, hours: number) =>
    account.query<{ at: string }>(`
      update mirror._collections set mirrored_from = now() - interval '${hours} hours', history_from = now() - interval '${hours} hours'
      where _user_id = ${account.fence.userId} and collection = 'lists'`);

  it('removes older versions, and shows readers since when history is complete', async () => {
    await since(scene.second, 5);
    await since(scene.first, 5);
    for (const n of [1, 2, 3]) {
      await scene.second.page('lists', `[{"list_id":1,"n":${n}}]`);
      await scene.second.age(2 * HOUR);
    }
    expect(await kept(scene.second)).toHaveLength(2);
    // Versions: 1 superseded 4 h ago, 2 superseded 2 h ago.
    const others = await coverage(scene.first);
    await prune(3 * HOUR);
    expect(await coverage(scene.first)).toEqual(others);
    expect(await kept(scene.second)).toEqual(['1 2']);
    expect(await asOf(2.5)).toEqual(['2']);
    await expect(asOf(3.5)).rejects.toThrow(/history covers it from/);
  });

  it('never moves the beginning back, and sets none while no history is kept', async () => {
    await since(scene.second, 1);
    const [lists] = await coverage();
    await prune(3 * HOUR);
    expect((await coverage())[0]).toEqual(lists);
    await open(scene.second, false);
    await prune(0);
    for (const each of await coverage()) expect(each).toMatch(/ -$/);
    await open(scene.second);
  });

  it('counts by the database’s clock, not by this machine’s', async () => {
    await since(scene.second, 5);
    const before = await coverage();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 24 * HOUR });
    try {
      await prune(6 * HOUR);
    } finally {
      vi.useRealTimers();
    }
    expect(await coverage()).toEqual(before);
  });

  it('moves the beginning first: after a stop in between, readers take no incomplete history for complete', async () => {
    await since(scene.second, 10);
    await scene.second.page('lists', '[{"list_id":1,"n":10}]');
    await scene.second.query(`
      create function public.fail() returns trigger language plpgsql as 'begin raise exception ''stop''; end';
      create trigger fail before delete on mirror.lists_history execute function public.fail()`);
    await scene.second.age(4 * HOUR);
    await expect(prune(HOUR)).rejects.toThrow('stop');
    await expect(asOf(2)).rejects.toThrow(/history covers it from/);
    await scene.second.query('drop function public.fail() cascade');
  });

  it('removes in batches, however many versions one moment has', async () => {
    await scene.second.query(`
      insert into mirror.lists_history (_user_id, list_id, _first_seen_at, _changed_at, _change_id, _hash, _raw, _valid_from, _valid_to, _op)
      select u, 5, now(), now(), 1000 + n, '', '{}', now() - interval '3 hours', now() - interval '2 hours' - n / 4000 * interval '1 minute', 'update'
      from generate_series(1, 12000) n, unnest(array[1, 2]) u`);
    await prune(HOUR, AbortSignal.abort());
    expect((await kept(scene.second)).length).toBeGreaterThanOrEqual(12_000);
    await scene.second.query(`
      create table public.batches (removed integer);
      create function public.note() returns trigger language plpgsql as
        'begin insert into public.batches select count(*) from gone; return null; end';
      create trigger note after delete on mirror.lists_history referencing old table as gone
        for each statement execute function public.note()`);
    await prune(HOUR);
    expect(await kept(scene.second)).toEqual([]);
    expect(await kept(scene.first)).toHaveLength(12_000);
    const batches = await scene.second.query('select removed from public.batches order by removed desc');
    expect(batches).toMatchObject([{ removed: 5_000 }, { removed: 5_000 }, {}]);
    await scene.second.query('drop function public.note() cascade; drop table public.batches');
  });
});
