import { describe, expect, it } from 'vitest';
import { NO_SUSPECTS, type SuspectChange } from '../../../../src/model/absence.ts';
import { suspectScopes } from '../../../../src/mirror/suspect-store.ts';
import { liveKeysMissing, predecessor } from '../../../../src/mirror/live-rows.ts';
import { Superseded } from '../../../../src/mirror/scope-store.ts';
import {
  deleteAllBut,
  falling,
  itemsWith,
  jobs,
  liveJobs,
  proveAbsent,
  SNAPSHOT,
  upTo,
} from '../../../support/mirror/deleting.ts';
import { changeId, type MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
/** An account with these jobs, which came the grace period ago. */
async function withJobs(...ids: readonly number[]): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.observe('research_jobs', jobs(...ids));
  await account.age(account.gracePeriodMs);
  return account;
}

const suspectKeys = async (account: MirroredAccount): Promise<string[]> =>
  (await account.suspects('research_jobs')).map(({ key }) => key);

/** Inserts an hour-old row for each of the keys 1, 2, …, more than pages could write quickly. */
const insertRows = (account: MirroredAccount, name: string, key: string, rows: number): Promise<unknown> =>
  account.query(`
    insert into mirror.${name} (_user_id, ${key}, _first_seen_at, _changed_at, _change_id, _hash, _raw)
    select ${account.fence.userId}, n, now(), now() - interval '1 hour', n, '', '{}' from generate_series(1, ${rows}) n`);

describe('suspected deletions that two walks show together', () => {
  const record = (account: MirroredAccount, change: Partial<SuspectChange>) =>
    account.mirror.recordSuspects(account.fence, account.scope('research_jobs'), { ...NO_SUSPECTS, ...change }, 1);
  const PAIR = { add: [{ key: '2', kind: 'pair' }] } as const;

  it('are added by one whole walk and proven by the next', async () => {
    const account = await withJobs(1, 2);
    await record(account, PAIR);
    expect(await account.suspects('research_jobs')).toMatchObject([{ key: '2', kind: 'pair' }]);
    await record(account, { prove: ['2'] });
    expect(await account.applyDeletions('research_jobs', { accept: true })).toMatchObject({ deleted: 1 });
    expect(await liveJobs(account)).toEqual([1]);
  });

  it('are replaced by suspects of one answer, which need two proofs again', async () => {
    const account = await withJobs(1, 2);
    await record(account, PAIR);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    expect(await account.suspects('research_jobs')).toMatchObject([{ kind: 'snapshot', proven: false }]);
  });

  it('are superseded by a later page, which may have seen the rows', async () => {
    const account = await withJobs(1, 2);
    await account.observe('research_jobs', jobs(2));
    await expect(record(account, PAIR)).rejects.toBeInstanceOf(Superseded);
    expect(await suspectKeys(account)).toEqual([]);
  });

  it('are the live rows that a walk did not see, among more than one statement reads', async () => {
    const account = await newAccount();
    const { db } = account.database;
    await account.observe('watchlist', itemsWith('id', ['1', '10', '9', 'a']));
    await account.age(account.gracePeriodMs);
    await account.observe('watchlist', itemsWith('id', ['new']));
    const seen = new Set(['10', 'x']);
    const missing = await liveKeysMissing(db, account.scope('watchlist'), (key) => seen.has(key));
    // A row that came too recently to be suspected is missing, too: the walk did not see everything.
    expect(missing.map(({ key }) => key)).toEqual(['1', '9', 'a', 'new']);
    await insertRows(account, 'research_jobs', 'job_id', 25_000);
    const jobs = account.scope('research_jobs');
    const gone = await liveKeysMissing(db, jobs, (key) => Number(key) % 10_000 !== 0);
    expect(gone.map(({ key }) => key)).toEqual(['10000', '20000']);
  });
});

describe('suspected deletions', () => {
  it.each([
    ['research_jobs', 41_000, 'job_id', '{"job_id":0}'],
    ['watchlist', 21_000, 'id', '{"id":"x"}'],
  ] as const)(
    'of %s are all rows that a page lacks, more than one statement reads, each once',
    async (name, rows, key, item) => {
      const account = await newAccount();
      await account.observe(name, `[${item}]`);
      await insertRows(account, name, key, rows);
      for (const proven of [0, rows]) {
        await account.observe(name, `[${item}]`, { proof: SNAPSHOT });
        const suspects = await account.suspects(name);
        expect(suspects).toHaveLength(rows);
        expect(suspects.filter((each) => each.proven)).toHaveLength(proven);
        await account.age(account.gracePeriodMs);
      }
    },
  );

  it('are listed by scope with time, kinds and numbers', async () => {
    const account = await newAccount();
    const observe = (parent: string, keys: string[], proof?: typeof SNAPSHOT) =>
      account.observe('list_items', itemsWith('id', keys), { parent, proof });
    const scopes = () => suspectScopes(account.database.db, account.fence.userId, 'list_items');
    await account.observe('lists', itemsWith('list_id', [1, 2]));
    for (const parent of ['1', '2']) await observe(parent, ['a', 'b', 'c']);
    await account.age(account.gracePeriodMs);
    expect(await scopes()).toEqual([]);
    await observe('2', ['a', 'c'], SNAPSHOT);
    await account.age(account.gracePeriodMs);
    for (const parent of ['1', '2']) await observe(parent, ['a'], SNAPSHOT);
    const [first, second] = await scopes();
    expect(first).toMatchObject({ scope: { parent: '1' }, kinds: ['snapshot'], waiting: 2, proven: 0 });
    expect(second).toMatchObject({ scope: { parent: '2' }, kinds: ['snapshot'], waiting: 1, proven: 1 });
    const [latest] = (await account.suspects('list_items', '2')).toSorted((a, b) => b.at - a.at);
    expect(second?.lastSuspectedAt).toEqual(new Date(latest?.at ?? 0));
  });

  it('are not cursors to begin a page at', async () => {
    const account = await withJobs(1, 2, 3, 4);
    await account.observe('research_jobs', jobs(4, 1), { proof: falling(null, 1) });
    const { db } = account.database;
    const scope = account.scope('research_jobs');
    expect(await predecessor(db, scope, 'falling', '1', 1)).toBe('4');
    expect(await predecessor(db, scope, 'rising', '4', 1)).toBe('1');
    expect(await predecessor(db, scope, 'falling', '1', 5)).toBe('4');
  });

  it('do not concern an item with the same ID in another list', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2]));
    const seen = async (parent: string, ids: string): Promise<void> => {
      await account.age(account.gracePeriodMs);
      await account.observe('list_items', itemsWith('id', ids.split(' ')), { parent, proof: SNAPSHOT });
    };
    const suspected = () =>
      account.rowsOf('parent, key, proven_at is not null', 'mirror_sync.candidate', 'order by 1, 2');
    for (const parent of ['1', '2']) await seen(parent, 'a b c');
    await seen('1', 'b c');
    await seen('2', 'a b');
    expect(await suspected()).toEqual(['1 a false', '2 c false']);
    // The second proof of c in this list, and the first of a.
    await seen('2', 'b');
    expect(await suspected()).toEqual(['1 a false', '2 a false', '2 c true']);
    expect(await account.applyDeletions('list_items', { parent: '2' })).toMatchObject({ deleted: 1 });
    // A sighting withdraws the suspicion in that list alone.
    await seen('2', 'a b');
    expect(await suspected()).toEqual(['1 a false']);
    const live = await account.rowsOf('list_id || id', 'mirror.list_items', 'and _deleted_at is null order by 1');
    expect(live.join(' ')).toBe('1a 1b 1c 2a 2b');
  });
});

describe('a row that the service does not have any more', () => {
  it('is deleted from unfinished rows and quarantine, too', async () => {
    const account = await newAccount();
    await account.observe('research_jobs', '[{"job_id":1,"status":"open"},{"job_id":2,"status":"open"}]');
    await account.observe('research_jobs', '[{"job_id":1,"status":"open","n":1e200000}]');
    await proveAbsent(account, 'research_jobs', jobs(2));
    await account.applyDeletions('research_jobs');
    expect(await account.rowsOf('key', 'mirror_sync.unsettled')).toEqual([]);
    expect(await account.rowsOf('key', 'mirror.quarantine')).toEqual([]);
  });

  it('is deleted, one of many, in several transactions that leave none out', async () => {
    const account = await newAccount();
    await account.observe('research_jobs', jobs(...upTo(2_500)));
    await proveAbsent(account, 'research_jobs', jobs(1));
    expect(await account.applyDeletions('research_jobs', { accept: true })).toMatchObject({
      deleted: 2_499,
      changed: [{ changeId: changeId(4999) }],
    });
    expect(await liveJobs(account)).toEqual([1]);
    expect(await account.rowsOf('deleted', 'mirror.sync_log', 'order by walk_id')).toEqual(['2000', '499']);
  });
});

describe('an interval', () => {
  const RISING = { direction: 'rising' } as const;
  it.each([
    ['from the top to an item', falling(null, 7), ['8', '9']],
    ['between two items, the second one included', falling(8, 4), ['4', '6', '7']],
    ['to the end', falling(3, null), ['1', '2']],
    ['of rising order', { ...falling(4, 8), ...RISING }, ['6', '7', '8']],
    ['of rising order, from the top', { ...falling(null, 3), ...RISING }, ['1', '2', '3']],
    ['in which there is nothing', falling(6, 6), []],
  ])('%s covers exactly the rows inside', async (_, proof, missing) => {
    const account = await withJobs(1, 2, 3, 4, 5, 6, 7, 8, 9);
    await account.observe('research_jobs', proof.through === '7' ? jobs(7) : jobs(5), { proof });
    expect(await suspectKeys(account)).toEqual(missing);
  });

  it('of text keys follows their order: shorter first, then bytewise', async () => {
    const account = await newAccount();
    await account.observe('watchlist', itemsWith('id', ['9', '10', 'a', 'é', 'Z', 'aa', 'ab', 'b']));
    await account.age(account.gracePeriodMs);
    const proof = { kind: 'interval', ...RISING, after: 'a', through: 'aa' } as const;
    await account.observe('watchlist', itemsWith('id', ['aa']), { proof });
    expect((await account.suspects('watchlist')).map(({ key }) => key)).toEqual(['10', 'b']);
  });
});

describe('the brake', () => {
  const newJobs = async (count: number): Promise<MirroredAccount> => {
    const account = await newAccount();
    await account.observe('research_jobs', jobs(...upTo(count)));
    return account;
  };
  /** How many deletions are blocked, and how many wait. */
  const quality = (account: MirroredAccount, name = 'research_jobs') =>
    account.rowsOf('held_deletions, waiting_deletions', 'mirror.data_quality', `and collection = '${name}'`);

  it('counts rows that still wait for their second proof', async () => {
    const account = await newJobs(60);
    for (const left of [55, 47]) {
      await account.age(account.gracePeriodMs);
      await account.observe('research_jobs', jobs(...upTo(left)), { proof: SNAPSHOT });
    }
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0, blocked: 5 });
    expect(await quality(account)).toEqual(['5 8']);
  });

  it('does not count suspected returns', async () => {
    const account = await newJobs(30);
    await deleteAllBut(account, 'research_jobs', jobs(...upTo(25)));
    // Five rows return too soon after their deletion.
    await account.observe('research_jobs', jobs(...upTo(30)));
    expect(await quality(account)).toEqual(['0 5']);
    await proveAbsent(account, 'research_jobs', jobs(...upTo(24)));
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 1, blocked: 0 });
  });

  it('counts list items of all the account’s lists', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2, 3]));
    for (const parent of ['1', '2', '3']) {
      await account.observe('list_items', itemsWith('id', upTo(20)), { parent });
    }
    // 9 of 20 are a large share of one list and a small one of all three; 9 more are too many.
    const left = itemsWith('id', upTo(11));
    expect(await deleteAllBut(account, 'list_items', left, { parent: '1' })).toMatchObject({ deleted: 9 });
    expect(await deleteAllBut(account, 'list_items', left, { parent: '2' })).toMatchObject({ blocked: 9 });
    expect(await quality(account, 'list_items')).toEqual(['9 0']);
  });

  it('counts suspected items once if their list is suspected, too', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2]));
    await account.observe('list_items', itemsWith('id', upTo(12)), { parent: '1' });
    await account.observe('list_items', itemsWith('id', upTo(88)), { parent: '2' });
    await account.age(account.gracePeriodMs);
    await account.observe('list_items', '[]', { parent: '1', proof: SNAPSHOT });
    // 12 of 100 items, not 24.
    const left = itemsWith('list_id', [2]);
    expect(await deleteAllBut(account, 'lists', left)).toMatchObject({ deleted: 1, blocked: 0 });
  });

  it('judges each account by itself', async () => {
    const [large, small] = [await newJobs(1_000), await newJobs(20)];
    expect(await deleteAllBut(small, 'research_jobs', jobs(1))).toMatchObject({ blocked: 19 });
    expect(await deleteAllBut(large, 'research_jobs', jobs(...upTo(900)))).toMatchObject({ deleted: 100 });
  });
});
