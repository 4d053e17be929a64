import { pageRecord } from '../../support/mirror/page-record.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBudgetStore } from '../../../src/service/budget-store.ts';
import { releaseAccount } from '../../../src/postgres/lease.ts';
import { openHistory } from '../../../src/mirror/history.ts';
import { pruneLog } from '../../../src/mirror/sync-log.ts';
import { NO_SUSPECTS } from '../../../src/model/absence.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import type { Fence } from '../../../src/postgres/fenced.ts';
import { NO_TOTALS } from '../../../src/model/sync-events.ts';
import { itemsOf } from '../../support/mirror/mirrored-account.ts';
import { rowsWith } from '../../support/mirror/search-everything.ts';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';
import { createTestProcess } from '../../support/processes/test-process.ts';
import { OPERATOR } from '../../support/mirror/operator.ts';

let account: TestAccount;
beforeAll(async () => {
  account = await createTestAccount();
  await account.read('lists', 'full');
});
afterAll(() => account.close());

type Write = (stale: TestAccount['current'], fence: Fence) => Promise<unknown>;

const AT = new Date('2026-01-01T00:00:00Z');
const NOTHING = { keyHash: 'k', blocks: [], learnt: [] };
const LOST = /has another owner now: this process writes nothing more for it/;

const scopeOf = ({ userId }: Fence, collection: 'lists' | 'account' = 'lists') => ({
  userId,
  collection,
  parent: '',
});
/** A page of these items. */
const page =
  (collection: 'lists' | 'account', items: string): Write =>
  ({ mirror }, fence) =>
    mirror.applyPage(
      fence,
      pageRecord({ scope: scopeOf(fence, collection), obs: 1_000, after: 999 }, { items: itemsOf(collection, items) }),
    );
const BLOCK = { group: 'other', blockId: 9, size: 1, validForMs: 10_000 } as const;

const WRITES: readonly [string, Write][] = [
  ['a page', page('lists', '[{"list_id":1}]')],
  ['an unchanged page', page('lists', '[]')],
  ['an answer that is one object', page('account', '[{"credits":1}]')],
  [
    'the end of a walk',
    ({ mirror }, fence) => {
      const scope = scopeOf(fence);
      const walkEnd = { scope, kind: 'poll', startedAt: AT, outcome: 'failed', totals: NO_TOTALS } as const;
      return mirror.endWalk(fence, scope, { scope: { failure: { message: 'late', at: AT } }, walkEnd }, 999);
    },
  ],
  [
    'rows in doubt',
    ({ mirror }, fence) => {
      const change = { ...NO_SUSPECTS, add: [{ key: '1', kind: 'pair' }] } as const;
      return mirror.recordSuspects(fence, scopeOf(fence), change, 999);
    },
  ],
  ['deletions', ({ mirror }, fence) => mirror.applyDeletions(fence, scopeOf(fence), { accept: OPERATOR, obs: 999 })],
  ['freshness', ({ store }) => store.saveCollection('lists', { state: 'failing' })],
  ['the account’s state', ({ store }) => store.saveState('stopped', 'late')],
  ['since when history covers it', (_, fence) => openHistory(account.database.db, fence, ['lists'], true)],
  ['a batch of a new column', ({ mirror }, fence) => mirror.backfill(fence)],
  ['old rows of the log, removed', (_, fence) => pruneLog(account.database.db, fence, 0, new AbortController().signal)],
  ['a reservation', (_, fence) => createBudgetStore(account.database.db, fence).reserve('k', BLOCK, NOTHING)],
  [
    'freed slots',
    (_, fence) => {
      const learnt = [{ group: 'other', learnt: { contacted: true } }] as const;
      return createBudgetStore(account.database.db, fence).record({ ...NOTHING, learnt });
    },
  ],
];

const everything = async (): Promise<string[]> => (await rowsWith(account.database.db, '')).toSorted();

describe('a process that lost the account', () => {
  it.each(WRITES)('writes nothing more of it: %s', async (_, write) => {
    await account.query(`
      insert into mirror_sync.backfill (_user_id, collection, field, done_through, until)
      values (${account.sandbox.userId}, 'lists', 'name', 0, 1000) on conflict do nothing;
      insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at, proven_at)
      values (${account.sandbox.userId}, 'lists', '1', 'snapshot', 1, now(), now()) on conflict do nothing;
      insert into mirror_sync.scope (_user_id, collection, last_obs)
      select ${account.sandbox.userId}, name, 999 from unnest(array['lists', 'account']) as name
      on conflict (_user_id, collection, parent) do update set last_obs = excluded.last_obs`);
    const stale = account.current;
    await account.query('update mirror_sync.account set token = token + 1');
    const before = await everything();
    // Not DatabaseWentBack, which is a LeaseLost, too: only the fence stops these writes.
    await expect(write(stale, stale.fence)).rejects.toThrow(LOST);
    expect(await everything()).toEqual(before);
    await account.query('update mirror_sync.account set token = token - 1');
  });

  it('writes nothing more of it after it gave the account up, even if no process has taken it yet', async () => {
    const stale = account.current;
    await releaseAccount(account.database.db, stale.fence);
    const taken = /was taken from this process: this process writes nothing more for it/;
    await expect(page('lists', '[]')(stale, stale.fence)).rejects.toThrow(taken);
    await account.reopen();
  });

  it('asks the service nothing more, as soon as it can’t say that it lives', async () => {
    const running = await createTestProcess(account);
    const { transport } = running.context.link;
    const { key } = account.sandbox;
    const { signal } = new AbortController();
    const post = {
      method: 'POST',
      path: '/v1/lists',
      key,
      body: '{}',
      signal,
      once: true,
      maxBytes: 10_000,
    } as const;
    /** A GET and a POST. @returns their states, or what was thrown */
    const ask = async (): Promise<unknown[]> => {
      const get = async () => (await transport.get('/v1/ping', key, signal, 'page')).status;
      const asked = await Promise.allSettled([get(), (async () => (await transport.send(post)).status)()]);
      return asked.map((each) => (each.status === 'fulfilled' ? each.value : each.reason));
    };
    const lost = [expect.any(LeaseLost), expect.any(LeaseLost)];
    const sent = async (): Promise<number> => (await account.sandbox.control.counters()).requests;
    const before = await sent();
    expect(await ask()).toEqual(lost);
    await running.heartbeat.start();
    expect(await ask()).toEqual([200, 201]);
    await running.heartbeat.stop();
    expect(await ask()).toEqual(lost);
    expect(await sent()).toBe(before + 2);
    await running.close();
  });
});
