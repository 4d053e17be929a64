import { pageRecord } from '../../support/mirror/page-record.ts';
import type { Item } from '../../../src/model/page.ts';
import type { Scope } from '../../../src/model/collections.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBudgetStore } from '../../../src/service/budget-store.ts';
import { releaseAccount } from '../../../src/postgres/lease.ts';
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

const scopeOf = ({ userId }: Fence) => ({ userId, collection: 'lists', parent: '' }) as const;
const page = (scope: Scope, items: readonly Item[] = []) =>
  pageRecord({ scope, obs: 1_000, after: 999 }, { items });
const BLOCK = { group: 'other', blockId: 9, size: 1, validForMs: 10_000 } as const;

const WRITES: readonly [string, Write][] = [
  [
    'a page',
    ({ mirror }, fence) => mirror.applyPage(fence, page(scopeOf(fence), itemsOf('lists', '[{"list_id":1}]'))),
  ],
  ['an unchanged page', ({ mirror }, fence) => mirror.applyPage(fence, page(scopeOf(fence)))],
  [
    'an answer that is one object',
    ({ mirror }, fence) =>
      mirror.applyPage(
        fence,
        page(
          { userId: fence.userId, collection: 'account', parent: '' },
          itemsOf('account', '[{"credits":1}]'),
        ),
      ),
  ],
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
  [
    'deletions',
    ({ mirror }, fence) => mirror.applyDeletions(fence, scopeOf(fence), { accept: OPERATOR, obs: 999 }),
  ],
  ['freshness', ({ store }) => store.saveCollection('lists', { state: 'failing' })],
  ['the account’s state', ({ store }) => store.saveState('stopped', 'late')],
  ['a batch of a new column', ({ mirror }, fence) => mirror.backfill(fence)],
  [
    'old rows of the log, removed',
    (_, fence) => pruneLog(account.database.db, fence, 0, new AbortController().signal),
  ],
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
    const [page] = WRITES;
    await expect(page?.[1](stale, stale.fence)).rejects.toThrow(
      /was taken from this process: this process writes nothing more for it/,
    );
    await account.reopen();
  });

  it('asks the service nothing more, as soon as it can’t say that it lives', async () => {
    const running = await createTestProcess(account);
    const { transport } = running.context.link;
    const get = async (): Promise<unknown> =>
      transport.get('/v1/ping', account.sandbox.key, new AbortController().signal, 'page');
    const post = async (): Promise<unknown> =>
      transport.send({
        method: 'POST',
        path: '/v1/lists',
        key: account.sandbox.key,
        body: '{}',
        signal: new AbortController().signal,
        once: true,
        maxBytes: 10_000,
      });
    const sent = async (): Promise<number> => (await account.sandbox.control.counters()).requests;
    const before = await sent();
    await expect(get()).rejects.toBeInstanceOf(LeaseLost);
    await expect(post()).rejects.toBeInstanceOf(LeaseLost);
    await running.heartbeat.start();
    await expect(get()).resolves.toMatchObject({ status: 200 });
    await expect(post()).resolves.toMatchObject({ status: 201 });
    await running.heartbeat.stop();
    await expect(get()).rejects.toBeInstanceOf(LeaseLost);
    await expect(post()).rejects.toBeInstanceOf(LeaseLost);
    expect(await sent()).toBe(before + 2);
    await running.close();
  });
});
