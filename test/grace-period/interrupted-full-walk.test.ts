import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createFrozenAccount, type TestAccount } from '../support/sync/read-account.ts';

const GRACE_PERIOD_MS = 1_000;

let test: TestAccount;
afterEach(() => test.close());

/** Six pages of jobs, mirrored longer ago than the grace period. */
async function mirrored(switches: Partial<SandboxOptions> = {}): Promise<void> {
  test = await createFrozenAccount(switches, systemClock, { MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s` });
  await test.read('research_jobs', 'full');
  await systemClock.sleep(GRACE_PERIOD_MS + 100);
}

/** Rows that changed and kept their place between unchanged ones: what earns an order trust. */
async function trusted(): Promise<void> {
  const all = await jobs();
  await test.sandbox.control.mutate(
    ...[110, 120, 130].map((place) => {
      return { op: 'update', collection: 'research_jobs', id: String(all[place]), fields: { x: 1 } } as const;
    }),
  );
  await test.read('research_jobs', 'full');
}

async function jobs(): Promise<string[]> {
  const truth = await test.sandbox.control.truth({ collection: 'research_jobs' });
  return truth.map((text) => String((JSON.parse(text) as { job_id: number }).job_id));
}

/** A full walk that ended behind its second page, as a stop or a kill leaves it. */
async function brokenOff(): Promise<void> {
  const stop = new AbortController();
  test.asked.length = 0;
  test.onRequest = () => {
    if (test.asked.length === 2) stop.abort(new Stopped('the test'));
  };
  await test.read('research_jobs', 'full', stop.signal);
  test.onRequest = () => {};
  await test.reopen();
  test.asked.length = 0;
}

async function remove(...ids: (string | undefined)[]): Promise<void> {
  await test.sandbox.control.mutate(
    ...ids.map((id) => ({ op: 'delete', collection: 'research_jobs', id: String(id) }) as const),
  );
}

async function deleted(): Promise<string[]> {
  const rows = await test.query<{ id: string }>(
    'select job_id::text as id from mirror.research_jobs where _deleted_at is not null order by job_id',
  );
  return rows.map(({ id }) => id);
}

async function completeAsOf(name = 'research_jobs'): Promise<Date> {
  const [row] = await test.query<{ at: Date }>(
    `select complete_as_of as at from mirror.freshness where collection = '${name}'`,
  );
  return row?.at ?? new Date(0);
}

/** Paths that were asked for, but for whose the key is. */
const pages = (): readonly string[] => test.asked.filter((path) => path !== '/v1/ping');

describe('a full reading that goes on with an interrupted walk', () => {
  beforeEach(() => mirrored());

  it('reads again what that had read, and no more, where nothing is missing', async () => {
    await brokenOff();
    const [row] = await test.query<{ pages: number }>(
      `select (full_walk->>'pages')::int as pages from mirror_sync.scope where collection = 'research_jobs'`,
    );
    const [asOf, whole] = [test.current.reader.completeFromNow(), await jobs()];
    expect((await test.read('research_jobs', 'full')).error).toBeUndefined();
    // The other pages to the end, then those from the top again.
    const before = row?.pages ?? 0;
    expect(before).toBeGreaterThanOrEqual(2);
    expect(pages()).toHaveLength(6);
    const cursors = pages().map((path) => new URLSearchParams(path.split('?')[1]).get('starting_after'));
    const tops = Array.from({ length: before - 1 }, (_, page) => whole[50 * (page + 1) - 1]);
    expect(cursors.slice(6 - before)).toEqual([null, ...tops]);
    expect((await completeAsOf()).getTime()).toBeGreaterThanOrEqual(asOf.getTime());
  });

  it('reads the list again to its end where rows are missing, and confirms them alone, where the order is trusted', async () => {
    await trusted();
    const all = await jobs();
    await brokenOff();
    await remove(all[3], all[60]);
    const asOf = test.current.reader.completeFromNow();
    expect((await test.read('research_jobs', 'full')).error).toBeUndefined();
    expect(await deleted()).toEqual([all[3], all[60]].map(String).toSorted());
    // Rows are missing, so that the list is read again to its end. Then the top, which confirms the first, and what
    // follows the row before the second.
    expect(pages().length).toBeLessThanOrEqual(6 + 6 + 2);
    expect((await completeAsOf()).getTime()).toBeGreaterThanOrEqual(asOf.getTime());
  });

  it('has the next one promised only when both parts are read', async () => {
    await brokenOff();
    const due = new Date('2026-01-01T00:00:00Z');
    const set = `update mirror._collections set next_full_at = '${due.toISOString()}'`;
    await test.query(`${set} where collection = 'research_jobs'`);
    const scheduledRuns = async (): Promise<Date | undefined> => {
      const [row] = await test.query<{ at: Date }>(
        `select next_full_at as at from mirror._collections where collection = 'research_jobs'`,
      );
      return row?.at;
    };
    // Stopped once more: when it begins at the top again.
    const stop = new AbortController();
    test.onRequest = (path) => {
      if (path !== '/v1/ping' && !path.includes('starting_after=')) stop.abort(new Stopped('the test'));
    };
    await test.read('research_jobs', 'full', stop.signal).catch(() => {});
    expect(test.asked.length).toBeGreaterThan(1);
    test.onRequest = () => {};
    expect(await scheduledRuns()).toEqual(due);
    await test.reopen();
    await test.read('research_jobs', 'full');
    expect(await scheduledRuns()).not.toEqual(due);
  });
});

describe('a full reading beside another', () => {
  it('counts nothing that the other had read before it came', async () => {
    await mirrored();
    const all = await jobs();
    const [first, gone] = [all[0], all[1]];
    let asOf = new Date(0);
    let second: Promise<unknown> = Promise.resolve();
    test.onRequest = async () => {
      test.onRequest = () => {};
      // The first one's top page was answered: now the row goes, and the second one comes.
      await remove(gone);
    };
    const other = test.read('research_jobs', 'full');
    await eventually('its first page', () => test.asked.length > 1);
    await remove(first);
    asOf = test.current.reader.completeFromNow();
    second = test.read('research_jobs', 'full');
    await Promise.all([other, second]);
    expect(await deleted()).toEqual([first, gone].map(String).toSorted());
    expect((await completeAsOf()).getTime()).toBeGreaterThanOrEqual(asOf.getTime());
  });
});

describe('a full reading of rows that came a moment ago', () => {
  it('waits until their absence may be told, and ends complete', async () => {
    test = await createFrozenAccount({}, systemClock, { MIRROR_SETTLE: '2s' });
    await test.read('research_jobs', 'full');
    const [gone] = await jobs();
    await remove(gone);
    const asOf = test.current.reader.completeFromNow();
    expect((await test.read('research_jobs', 'full')).error).toBeUndefined();
    expect(await deleted()).toEqual([gone]);
    expect((await completeAsOf()).getTime()).toBeGreaterThanOrEqual(asOf.getTime());
  });
});

describe('a full pass over lists', () => {
  it('counts those that another reading came to first', async () => {
    test = await createFrozenAccount({ lists: 3, itemsPerList: 120, order: 'unordered' }, systemClock, {
      MIRROR_SETTLE: `${GRACE_PERIOD_MS / 1000}s`,
    });
    const asOf = test.current.reader.completeFromNow();
    await test.read('lists', 'full');
    // A poll comes to each list once the pass has begun: in this order only a whole walk will do.
    let polled: Promise<unknown> | undefined;
    test.onRequest = async (path) => {
      if (polled === undefined && path.startsWith('/v1/lists/')) polled = test.read('list_items', 'poll');
    };
    await test.read('list_items', 'full');
    await polled;
    expect((await completeAsOf('list_items')).getTime()).toBeGreaterThanOrEqual(asOf.getTime());
  });
});
