import { beforeEach, describe, expect, it } from 'vitest';
import { beginFull } from '../../../../src/walk/full.ts';
import { newMemory } from '../../../../src/walk/memory.ts';
import { type CollectionChange, NO_TOTALS, NO_WALK_TOTALS, type WalkEnd } from '../../../../src/model/sync-events.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
let account: MirroredAccount;
beforeEach(async () => {
  account = await newAccount();
});

const AT = new Date('2026-03-01T00:00:00Z');
const walkEnd = (name: 'research_jobs' | 'lists', more: Partial<WalkEnd>): WalkEnd => ({
  scope: account.scope(name),
  kind: 'poll',
  startedAt: AT,
  outcome: 'completed',
  totals: NO_WALK_TOTALS,
  ...more,
});

describe('rows that may still change', () => {
  it('are stored apart while their state says so', async () => {
    const unfinished = () => account.rowsOf('key, finished', 'mirror_sync.unsettled');
    await account.page(
      'research_jobs',
      '[{"job_id":1,"status":"open"},{"job_id":2,"status":"failed"},{"job_id":3,"status":"done"}]',
    );
    expect(await unfinished()).toEqual(['1 false', '2 true']);
    await account.page('research_jobs', '[{"job_id":1,"status":"done"},{"job_id":2,"status":"open"}]');
    expect(await unfinished()).toEqual(['2 false']);
  });

  it('cool from their last change; rows that had failed before they came, from the latest moment in the item', async () => {
    const cooling = () =>
      account.rowsOf(
        `case when u.since = t._changed_at then 'change' else (u.since at time zone 'UTC')::text end as since`,
        'mirror_sync.unsettled as u join mirror.research_jobs as t using (_user_id)',
        'and t.job_id = u.key::bigint order by t.job_id',
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
    const others = ['change', '0001-01-01 00:00:00', 'change', 'change'];
    expect(await cooling()).toEqual(['2020-01-01 01:00:00', ...others]);
    await account.page('research_jobs', `[{"job_id":1,"status":"failed","n":1,${long}}]`);
    expect(await cooling()).toEqual(['change', ...others]);
  });
});

it('a new or changed list makes its items due in the same transaction', async () => {
  const lists = (name: string) => account.page('lists', `[{"list_id":1,"name":"a"},{"list_id":2,"name":"${name}"}]`);
  const due = () =>
    account.rowsOf('parent', 'mirror_sync.scope', `and collection = 'list_items' and due_at is not null order by 1`);
  await lists('b');
  expect(await due()).toEqual(['1', '2']);
  await account.query(`update mirror_sync.scope set due_at = null where _user_id = ${account.fence.userId}`);
  await lists('c');
  expect(await due()).toEqual(['2']);
});

describe('the end of a walk', () => {
  it('is a row of sync_log and moves the collection’s freshness with the page', async () => {
    await account.page('research_jobs', '[{"job_id":1},{"job_id":2}]', {
      walk: beginFull(newMemory('bigint'), { liveRows: 0, now: AT.getTime() }).walk,
      startedAt: AT,
      totals: { ...NO_TOTALS, pages: 1, items: 2, requests: 1 },
      end: {
        type: 'end',
        outcome: 'complete',
        polledAt: AT,
        collection: { polledAt: AT, state: 'current', failure: null },
      },
    });
    const log = await account.rowsOf('walk_id, kind, inserted, outcome, list_id', 'mirror.sync_log');
    expect(log).toEqual(['1 full 2 completed -']);
    const fresh = `collection, live_rows, deleted_rows, polled_at = '${AT.toISOString()}', state`;
    expect(await account.rowsOf(fresh, 'mirror.freshness')).toEqual(['research_jobs 2 0 true current']);
  });

  it('makes a collection current if and only if it was read to its end once', async () => {
    const after = async (collection: CollectionChange): Promise<unknown> => {
      const change = { scope: {}, walkEnd: walkEnd('lists', { collection }) };
      await account.mirror.endWalk(account.fence, account.scope('lists'), change, 0);
      return (await account.rowsOf('state', 'mirror.freshness', `and collection = 'lists'`))[0];
    };
    const read = { state: 'current', failure: null } as const;
    const failed = { state: 'failing', failure: { message: 'no', at: AT } } as const;
    const states: unknown[] = [];
    // Whatever part was read last.
    const polled = { polledAt: AT };
    for (const change of [read, failed, read, polled, failed, polled, read]) states.push(await after(change));
    expect(states).toEqual(['new', 'failing', 'new', 'current', 'failing', 'failing', 'current']);
  });

  it('can come without a page: a failure is counted, and the log says why', async () => {
    await account.page('research_jobs', '[]');
    const failure = { message: 'the service answered 503', at: AT };
    const failed = walkEnd('research_jobs', {
      outcome: 'failed',
      error: failure.message,
      totals: { ...NO_WALK_TOTALS, requests: 3 },
      collection: { state: 'failing', failure },
    });
    const change = { scope: { failure }, walkEnd: failed };
    await account.mirror.endWalk(account.fence, account.scope('research_jobs'), change, 1);
    const counted = `failures, last_error_at = '${AT.toISOString()}'`;
    expect(await account.rowsOf(counted, 'mirror_sync.scope')).toEqual(['1 true']);
    const told = await account.rowsOf(
      'f.state, f.last_error = l.error, l.error, l.requests',
      'mirror.freshness f join mirror.sync_log l using (_user_id)',
    );
    expect(told).toEqual(['failing true the service answered 503 3']);
  });
});
