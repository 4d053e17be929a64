import { beforeEach, describe, expect, it } from 'vitest';
import { Stopped } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { TestAccount } from '../support/sync/read-account.ts';
import { gracedAccount } from './graced-account.ts';

const { open, mirrored, read, readWell, ids, remove, deleted, trust, freshness, brokenOff } = gracedAccount();
let test: TestAccount;

/** Paths that were asked for, but for whose the key is. */
const pages = (): readonly string[] => test.asked.filter((path) => path !== '/v1/ping');

/** From now on a reading is whole, which `isWhole` then looks at. */
function fromNow(name: 'research_jobs' | 'list_items' = 'research_jobs') {
  const asOf = test.current.reader.completeFromNow();
  return async (): Promise<void> => {
    expect(Number((await freshness(name))?.complete_as_of)).toBeGreaterThanOrEqual(asOf.getTime());
  };
}

describe('a full reading that goes on with an interrupted walk', () => {
  // Six pages of jobs.
  beforeEach(async () => {
    test = await mirrored({}, ['research_jobs']);
  });

  it('reads again what that had read, and no more, where nothing is missing', async () => {
    await brokenOff(2);
    const [{ before } = { before: 0 }] = await test.query<{ before: number }>(
      `select (full_walk->>'pages')::int as before from mirror_sync.scope where collection = 'research_jobs'`,
    );
    const isWhole = fromNow();
    const all = await ids('research_jobs');
    await readWell('research_jobs');
    // The other pages to the end, then those from the top again.
    expect(before).toBeGreaterThanOrEqual(2);
    expect(pages()).toHaveLength(6);
    const cursors = pages().map((path) => new URLSearchParams(path.split('?')[1]).get('starting_after'));
    const tops = Array.from({ length: before - 1 }, (_, page) => all[50 * (page + 1) - 1]);
    expect(cursors.slice(6 - before)).toEqual([null, ...tops]);
    await isWhole();
  });

  it('reads the list again to its end where rows are missing, and confirms them alone, where the order is trusted', async () => {
    const all = await ids('research_jobs');
    await trust(all);
    await brokenOff(2);
    await remove('research_jobs', all[3], all[60]);
    const isWhole = fromNow();
    await readWell('research_jobs');
    expect(await deleted('research_jobs')).toEqual([all[3], all[60]].map(String).toSorted());
    // Rows are missing, so that the list is read again to its end. Then the top, which confirms the first, and what
    // follows the row before the second.
    expect(pages().length).toBeLessThanOrEqual(6 + 6 + 2);
    await isWhole();
  });

  it('has the next one promised only when both parts are read', async () => {
    await brokenOff(2);
    const due = '2026-01-01T00:00:00Z';
    await test.query(`update mirror._collections set next_full_at = '${due}' where collection = 'research_jobs'`);
    const stillDue = async (): Promise<boolean> => {
      const rows = await test.query(
        `select from mirror._collections where collection = 'research_jobs' and next_full_at = '${due}'`,
      );
      return rows.length === 1;
    };
    // Stopped once more: when it begins at the top again.
    const stop = new AbortController();
    test.onRequest = (path) => {
      if (path !== '/v1/ping' && !path.includes('starting_after=')) stop.abort(new Stopped('the test'));
    };
    await read('research_jobs', 'full', stop.signal).catch(() => {});
    expect(test.asked.length).toBeGreaterThan(1);
    test.onRequest = () => {};
    expect(await stillDue()).toBe(true);
    await test.reopen();
    await read('research_jobs', 'full');
    expect(await stillDue()).toBe(false);
  });

  it('counts nothing that another one beside it had read before it came', async () => {
    const [first, gone] = await ids('research_jobs');
    test.onRequest = async () => {
      test.onRequest = () => {};
      // The first one's top page was answered: now the row goes, and the second one comes.
      await remove('research_jobs', gone);
    };
    const other = read('research_jobs', 'full');
    await eventually('its first page', () => test.asked.length > 1);
    await remove('research_jobs', first);
    const isWhole = fromNow();
    await Promise.all([other, read('research_jobs', 'full')]);
    expect(await deleted('research_jobs')).toEqual([first, gone].map(String).toSorted());
    await isWhole();
  });
});

it('a full reading of rows that came a moment ago waits until their absence may be told, and ends complete', async () => {
  test = await open({}, '2s');
  await read('research_jobs', 'full');
  const [gone] = await ids('research_jobs');
  await remove('research_jobs', gone);
  const isWhole = fromNow();
  await readWell('research_jobs');
  expect(await deleted('research_jobs')).toEqual([gone]);
  await isWhole();
});

it('a full pass over lists counts those that another reading came to first', async () => {
  test = await open({ lists: 3, itemsPerList: 120, order: 'unordered' });
  const isWhole = fromNow('list_items');
  await read('lists', 'full');
  // A poll comes to each list once the pass has begun: in this order only a whole walk will do.
  let polled: Promise<unknown> | undefined;
  test.onRequest = async (path) => {
    if (polled === undefined && path.startsWith('/v1/lists/')) polled = read('list_items', 'poll');
  };
  await read('list_items', 'full');
  expect(polled).toBeDefined();
  await polled;
  await isWhole();
});
