import { afterEach, describe, expect, it } from 'vitest';
import { listQuarantine } from '../../../../src/app/quarantine/quarantine-list.ts';
import { readStoredStatus } from '../../../../src/db/status/stored-status.ts';
import { COLLECTION_NAMES } from '../../../../src/model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';
import { earlier } from '../../../support/postgres/earlier.ts';

// What the service has that can't be mirrored, read over HTTP as the daemon reads it.

let test: TestAccount;
afterEach(() => test.close());

async function open(): Promise<void> {
  test = await createTestAccount({}, systemClock, { MIRROR_SETTLE: '1s' });
  await test.sandbox.control.clock({ freeze: true });
}

/** Above all jobs: where polls look. */
const NEWEST = 9_000_000;

const keyless = (n: number): string => `{"status":"completed","remark":"no ID ${n}"}`;

async function put(id: number, source: string): Promise<void> {
  await test.sandbox.control.mutate({
    op: 'insert',
    collection: 'research_jobs',
    id: String(id),
    source,
  });
}

async function take(id: number): Promise<void> {
  await test.sandbox.control.mutate({ op: 'delete', collection: 'research_jobs', id: String(id) });
}

/** Lets more than the grace period pass. */
function age(): Promise<unknown> {
  return test.query(`update mirror.quarantine set last_seen_at = ${earlier('last_seen_at', '10 seconds')}`);
}

async function read(what: 'full' | 'current'): Promise<void> {
  expect((await test.read('research_jobs', what)).error).toBeUndefined();
}

/** Texts in quarantine; what `quarantine list` and the status count must be as many. */
async function kept(): Promise<string[]> {
  const { db } = test.database;
  const rows = await test.query<{ item: string }>('select item from mirror.quarantine order by item');
  const { items } = await listQuarantine(db, COLLECTION_NAMES, 10);
  const [account] = (await readStoredStatus(db)).accounts;
  const status = account?.collections.find(({ collection }) => collection === 'research_jobs');
  expect([items, status?.quarantinedItems]).toEqual([rows.length, rows.length]);
  return rows.map(({ item }) => item);
}

describe('an item without ID', () => {
  it('is one row, however many polls find it changed, and none when it is gone', async () => {
    await open();
    await put(NEWEST, keyless(0));
    await read('full');
    for (let poll = 1; poll <= 5; poll += 1) {
      await take(NEWEST + poll - 1);
      await put(NEWEST + poll, keyless(poll));
      await read('current');
    }
    expect(await kept()).toEqual([keyless(5)]);
    await take(NEWEST + 5);
    await age();
    await read('current');
    expect(await kept()).toEqual([]);
  });

  it('is one row while new ones come above it', async () => {
    await open();
    await put(NEWEST, keyless(0));
    await read('full');
    for (let poll = 1; poll <= 5; poll += 1) {
      await take(NEWEST + 2 * poll - 2);
      await age();
      await put(NEWEST + 2 * poll, keyless(poll));
      await put(NEWEST + 2 * poll + 1, `{"job_id":${NEWEST + 2 * poll + 1},"status":"completed"}`);
      await read('current');
    }
    expect(await kept()).toEqual([keyless(5)]);
  });
});

describe('an item that Postgres refuses', () => {
  const refused = (id: number, n: number): string => `{"job_id":${id},"n":${n},"ratio":1e400000}`;

  it('is one row, whatever its text, and goes when a full walk of many pages does not see it', async () => {
    await open();
    // Far below what polls read.
    for (const n of [1, 2, 3]) await put(n, refused(n, 0));
    await read('full');
    expect(await kept()).toEqual([1, 2, 3].map((n) => refused(n, 0)));
    await take(2);
    await age();
    await read('current');
    expect(await kept()).toHaveLength(3);
    await read('full');
    expect(await kept()).toEqual([1, 3].map((n) => refused(n, 0)));
  });

  it('stays, where a stop broke the walk, until a walk in one go or an hour has passed', async () => {
    await open();
    await put(1, refused(1, 0));
    await put(2, keyless(2));
    await read('full');
    await take(1);
    await age();
    const stop = new AbortController();
    const pages = (): number => test.asked.filter((path) => path !== '/v1/ping').length;
    const asked = pages();
    test.onRequest = () => {
      if (pages() >= asked + 2) stop.abort(new Stopped('enough'));
    };
    await test.read('research_jobs', 'full', stop.signal).catch(() => {});
    expect(pages()).toBe(asked + 3);
    test.onRequest = () => {};
    await test.reopen();
    await read('full');
    const full = test.walks.filter(({ kind }) => kind === 'full');
    expect(full.map((walk) => [walk.outcome, walk.pages])).toEqual([
      ['complete', asked],
      ['interrupted', 3],
      // The rest, and from the top what the stopped one had read: neither saw all in one go.
      ['complete', asked - 3],
      ['complete', 3],
    ]);
    expect(await kept()).toEqual([refused(1, 0), keyless(2)]);
    await read('full');
    expect(await kept()).toEqual([keyless(2)]);
  });
});
