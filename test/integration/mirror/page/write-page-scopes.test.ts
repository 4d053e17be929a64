import { describe, expect, it } from 'vitest';
import {
  type CollectionChange,
  NO_WALK_TOTALS,
  type WalkEnd,
} from '../../../../src/mirror/scope/walk-end.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

describe('rows that may still change', () => {
  it('are kept apart while their state says so', async () => {
    const account = await newAccount();
    const unfinished = () =>
      account.query(
        `select key, finished from mirror_sync.unsettled where _user_id = ${account.fence.userId} order by key`,
      );
    await account.page(
      'research_jobs',
      '[{"job_id":1,"status":"open"},{"job_id":2,"status":"failed"},{"job_id":3,"status":"done"}]',
    );
    expect(await unfinished()).toEqual([
      { key: '1', finished: false },
      { key: '2', finished: true },
    ]);
    await account.page('research_jobs', '[{"job_id":1,"status":"done"},{"job_id":2,"status":"open"}]');
    expect(await unfinished()).toEqual([{ key: '2', finished: false }]);
  });

  it('cool from their last change: of what failed before it came here, from what it says of itself', async () => {
    const account = await newAccount();
    const cooling = () =>
      account.query<{ key: string; since: string }>(
        `select u.key, case when u.since = t._changed_at then 'change' else (u.since at time zone 'UTC')::text end as since
         from mirror_sync.unsettled as u
         join mirror.research_jobs as t on t._user_id = u._user_id and t.job_id = u.key::bigint
         where u._user_id = ${account.fence.userId} order by t.job_id`,
      );
    const long = '"created_at":"2020-01-01T00:00:00Z","ended":"2020-01-01T01:00:00Z"';
    await account.page(
      'research_jobs',
      `[{"job_id":1,"status":"failed",${long}},
        {"job_id":2,"status":"failed",${long},"retry_at":"9999-01-01T00:00:00Z"},
        {"job_id":3,"status":"failed","at":"0001-01-01"},
        {"job_id":4,"status":"failed"},
        {"job_id":5,"status":"open",${long}}]`,
    );
    expect(await cooling()).toEqual([
      { key: '1', since: '2020-01-01 01:00:00' },
      { key: '2', since: 'change' },
      { key: '3', since: '0001-01-01 00:00:00' },
      { key: '4', since: 'change' },
      { key: '5', since: 'change' },
    ]);
    await account.page('research_jobs', `[{"job_id":1,"status":"failed","n":1,${long}}]`);
    expect(await cooling()).toContainEqual({ key: '1', since: 'change' });
  });
});

describe('lists and their items', () => {
  it('a new or changed list makes its items due in the same transaction', async () => {
    const account = await newAccount();
    await account.page('lists', '[{"list_id":1,"name":"a"},{"list_id":2,"name":"b"}]');
    const due = () =>
      account.query<{ parent: string }>(
        `select parent from mirror_sync.scope where _user_id = ${account.fence.userId}
         and collection = 'list_items' and due_at is not null order by parent`,
      );
    expect(await due()).toEqual([{ parent: '1' }, { parent: '2' }]);
    await account.query(
      `update mirror_sync.scope set due_at = null where _user_id = ${account.fence.userId}`,
    );
    await account.page('lists', '[{"list_id":1,"name":"a"},{"list_id":2,"name":"c"}]');
    expect(await due()).toEqual([{ parent: '2' }]);
  });
});

describe('the end of a walk', () => {
  it('is a row of sync_log and moves the collection’s freshness with the page', async () => {
    const account = await newAccount();
    const at = new Date('2026-03-01T00:00:00Z');
    await account.page('research_jobs', '[{"job_id":1},{"job_id":2}]', {
      decide: ({ counts }) => ({
        scope: { polledAt: at, lastReadAt: at, fullWalk: null },
        walkEnd: {
          scope: account.scope('research_jobs'),
          kind: 'full',
          startedAt: at,
          outcome: 'completed',
          totals: { ...NO_WALK_TOTALS, pages: 1, items: 2, inserted: counts.inserted, requests: 1 },
          collection: { polledAt: at, state: 'current', failure: null },
        },
      }),
    });
    const where = `where _user_id = ${account.fence.userId}`;
    expect(
      await account.query(`select walk_id, kind, inserted, outcome, list_id from mirror.sync_log ${where}`),
    ).toEqual([{ walk_id: '1', kind: 'full', inserted: '2', outcome: 'completed', list_id: null }]);
    expect(
      await account.query(
        `select collection, live_rows, deleted_rows, polled_at, state from mirror.freshness ${where}`,
      ),
    ).toEqual([
      { collection: 'research_jobs', live_rows: '2', deleted_rows: '0', polled_at: at, state: 'current' },
    ]);
  });

  it('makes nothing current that was never read to its end, and leaves nothing new that was', async () => {
    const account = await newAccount();
    const at = new Date('2026-03-01T00:00:00Z');
    const after = async (collection: CollectionChange): Promise<unknown> => {
      const scope = account.scope('lists');
      const walkEnd = {
        scope,
        kind: 'poll',
        startedAt: at,
        outcome: 'completed',
        totals: NO_WALK_TOTALS,
      } as const;
      await account.mirror.endWalk(
        account.fence,
        scope,
        { scope: {}, walkEnd: { ...walkEnd, collection } },
        0,
      );
      const [row] = await account.query<{ state: string }>(
        `select state from mirror.freshness where _user_id = ${account.fence.userId} and collection = 'lists'`,
      );
      return row?.state;
    };
    const read = { state: 'current', failure: null } as const;
    expect(await after(read)).toBe('new');
    expect(await after({ state: 'failing', failure: { message: 'no', at } })).toBe('failing');
    expect(await after(read)).toBe('new');
    // By whatever part was read last.
    expect(await after({ polledAt: at })).toBe('current');
    expect(await after({ state: 'failing', failure: { message: 'no', at } })).toBe('failing');
    expect(await after({ polledAt: at })).toBe('failing');
    expect(await after(read)).toBe('current');
  });

  it('can come without a page: a failure is counted, and the log says why', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[]');
    const at = new Date('2026-03-01T00:00:00Z');
    const failure = { message: 'the service answered 503', at };
    const scope = account.scope('research_jobs');
    const walkEnd: WalkEnd = {
      scope,
      kind: 'poll',
      startedAt: at,
      outcome: 'failed',
      error: failure.message,
      totals: { ...NO_WALK_TOTALS, requests: 3 },
      collection: { state: 'failing', failure },
    };
    await account.mirror.endWalk(account.fence, scope, { scope: { failure }, walkEnd }, 1);
    expect(
      await account.query(
        `select failures, last_error_at as at from mirror_sync.scope where _user_id = ${account.fence.userId}`,
      ),
    ).toEqual([{ failures: 1, at }]);
    expect(
      await account.query(
        `select f.state, f.last_error, l.error, l.requests from mirror.freshness f
         join mirror.sync_log l using (_user_id) where _user_id = ${account.fence.userId}`,
      ),
    ).toEqual([{ state: 'failing', last_error: failure.message, error: failure.message, requests: '3' }]);
  });
});
