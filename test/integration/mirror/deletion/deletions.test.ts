import { describe, expect, it } from 'vitest';
import { NO_SUSPECTS, type SuspectChange } from '../../../../src/model/absence.ts';
import { suspectScopes } from '../../../../src/mirror/suspect-store.ts';
import { liveKeysMissing, predecessor } from '../../../../src/mirror/live-rows.ts';
import { Superseded } from '../../../../src/mirror/scope-store.ts';
import {
  falling,
  itemsWith,
  jobs,
  suspectKeys,
  liveJobs,
  oldJobs,
  proveAbsent,
  SNAPSHOT,
} from '../../../support/mirror/deleting.ts';
import { changeId, type MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
const withJobs = oldJobs(newAccount);

describe('suspected deletions that two walks show together', () => {
  const pair = (change: Partial<SuspectChange>): SuspectChange => ({ ...NO_SUSPECTS, ...change });
  const record = (account: MirroredAccount, change: Partial<SuspectChange>, obs: number) =>
    account.mirror.recordSuspects(account.fence, account.scope('research_jobs'), pair(change), obs);

  it('are added by one whole walk and proven by the next', async () => {
    const account = await withJobs(1, 2);
    await record(account, { add: [{ key: '2', kind: 'pair' }] }, 1);
    expect(await account.suspects('research_jobs')).toMatchObject([{ key: '2', kind: 'pair' }]);
    await record(account, { prove: ['2'] }, 1);
    expect(await account.applyDeletions('research_jobs', { accept: true })).toMatchObject({ deleted: 1 });
    expect(await liveJobs(account)).toEqual([1]);
  });

  it('are replaced by suspects of one answer, which need two proofs again', async () => {
    const account = await withJobs(1, 2);
    await record(account, { add: [{ key: '2', kind: 'pair' }] }, 1);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    expect(await account.suspects('research_jobs')).toMatchObject([{ kind: 'snapshot', proven: false }]);
  });

  it('are superseded by a later page, which may have seen the rows', async () => {
    const account = await withJobs(1, 2);
    await account.observe('research_jobs', jobs(2));
    await expect(record(account, { add: [{ key: '2', kind: 'pair' }] }, 1)).rejects.toBeInstanceOf(
      Superseded,
    );
    expect(await suspectKeys(account)).toEqual([]);
  });

  it('are the live rows that a walk did not see', async () => {
    const account = await newAccount();
    await account.observe('watchlist', itemsWith('id', ['1', '10', '9', 'a']));
    await account.age(account.gracePeriodMs);
    await account.observe('watchlist', itemsWith('id', ['new']));
    const seen = new Set(['10', 'x']);
    const { db } = account.database;
    const missing = await liveKeysMissing(db, account.scope('watchlist'), (key) => seen.has(key));
    // A row that came too recently to be suspected is missing, too: the walk did not see everything.
    expect(missing.map(({ key }) => key)).toEqual(['1', '9', 'a', 'new']);
  });

  it('are found among more rows than one statement reads', async () => {
    const account = await newAccount();
    await account.query(`
      insert into mirror.research_jobs (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select ${account.fence.userId}, n, now(), now() - interval '1 hour', n, '', '{}' from generate_series(1, 25000) n`);
    const { db } = account.database;
    const scope = account.scope('research_jobs');
    const gone = await liveKeysMissing(db, scope, (key) => Number(key) % 10_000 !== 0);
    expect(gone.map(({ key }) => key)).toEqual(['10000', '20000']);
  });
});

describe('a page that very many rows are missing from', () => {
  it.each([
    ['research_jobs', 41_000, 'job_id', '{"job_id":0}'],
    ['watchlist', 21_000, 'id', '{"id":"x"}'],
  ] as const)(
    'suspects all of %s, more than one statement reads, each once',
    async (name, rows, key, item) => {
      const account = await newAccount();
      await account.observe(name, `[${item}]`);
      await account.query(`
      insert into mirror.${name} (_user_id, ${key}, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select ${account.fence.userId}, n, now(), now() - interval '1 hour', n, '', '{}' from generate_series(1, ${rows}) n`);
      for (let proof = 1; proof <= 2; proof += 1) {
        await account.observe(name, `[${item}]`, { proof: SNAPSHOT });
        const suspects = await account.suspects(name);
        expect(suspects).toHaveLength(rows);
        expect(suspects.filter(({ proven }) => proven)).toHaveLength(proof === 1 ? 0 : rows);
        await account.age(account.gracePeriodMs);
      }
    },
  );
});

describe('suspected deletions', () => {
  it('are listed by scope with time, kinds and numbers', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2]));
    for (const parent of ['1', '2']) {
      await account.observe('list_items', itemsWith('id', ['a', 'b', 'c']), { parent });
    }
    await account.age(account.gracePeriodMs);
    const { db } = account.database;
    const scopes = () => suspectScopes(db, account.fence.userId, 'list_items');
    expect(await scopes()).toEqual([]);
    await account.observe('list_items', itemsWith('id', ['a', 'c']), { parent: '2', proof: SNAPSHOT });
    await account.age(account.gracePeriodMs);
    await account.observe('list_items', itemsWith('id', ['a']), { parent: '1', proof: SNAPSHOT });
    await account.observe('list_items', itemsWith('id', ['a']), { parent: '2', proof: SNAPSHOT });
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
    const seen = async (parent: string, ...ids: readonly string[]): Promise<void> => {
      await account.age(account.gracePeriodMs);
      await account.observe('list_items', itemsWith('id', ids), { parent, proof: SNAPSHOT });
    };
    const suspected = async (): Promise<string[]> =>
      Promise.all(
        ['1', '2'].map(async (parent) =>
          (await account.suspects('list_items', parent))
            .map(({ key, proven }) => `${key}${proven ? '!' : ''}`)
            .toSorted()
            .join(' '),
        ),
      );
    for (const parent of ['1', '2']) await seen(parent, 'a', 'b', 'c');

    await seen('1', 'b', 'c');
    await seen('2', 'a', 'b');
    expect(await suspected()).toEqual(['a', 'c']);
    // The second proof of c in this list, and the first of a.
    await seen('2', 'b');
    expect(await suspected()).toEqual(['a', 'a c!']);
    expect(await account.applyDeletions('list_items', { parent: '2' })).toMatchObject({ deleted: 1 });

    // A sighting withdraws the suspicion in that list alone.
    await seen('2', 'a', 'b');
    expect(await suspected()).toEqual(['a', '']);
    const live = await account.query<{ item: string }>(`select list_id || id as item from mirror.list_items
      where _user_id = ${account.fence.userId} and _deleted_at is null order by 1`);
    expect(live.map(({ item }) => item).join(' ')).toBe('1a 1b 1c 2a 2b');
  });
});

describe('a row that the service does not have any more', () => {
  it('is deleted from unfinished rows and quarantine, too', async () => {
    const account = await newAccount();
    await account.observe('research_jobs', '[{"job_id":1,"status":"open"},{"job_id":2,"status":"open"}]');
    await account.observe('research_jobs', '[{"job_id":1,"status":"open","n":1e200000}]');
    await proveAbsent(account, 'research_jobs', jobs(2));
    await account.applyDeletions('research_jobs');
    const user = account.fence.userId;
    expect(await account.query(`select key from mirror_sync.unsettled where _user_id = ${user}`)).toEqual([]);
    expect(await account.query(`select key from mirror.quarantine where _user_id = ${user}`)).toEqual([]);
  });

  it('is deleted, one of many, in several transactions that leave none out', async () => {
    const account = await newAccount();
    const ids = Array.from({ length: 2_500 }, (_, id) => id);
    await account.observe('research_jobs', jobs(...ids));
    await proveAbsent(account, 'research_jobs', jobs(0));
    expect(await account.applyDeletions('research_jobs', { accept: true })).toMatchObject({
      deleted: 2_499,
      changed: [{ changeId: changeId(4999) }],
    });
    expect(await liveJobs(account)).toEqual([0]);
    const log = await account.query<{ deleted: string }>(
      `select deleted from mirror.sync_log where _user_id = ${account.fence.userId} order by walk_id`,
    );
    expect(log.map(({ deleted }) => deleted)).toEqual(['2000', '499']);
  });
});

describe('an interval', () => {
  it.each([
    ['from the top to an item', falling(null, 7), ['8', '9']],
    ['between two items, the second one included', falling(8, 4), ['4', '6', '7']],
    ['to the end', falling(3, null), ['1', '2']],
    ['of rising order', { ...falling(4, 8), direction: 'rising' as const }, ['6', '7', '8']],
    ['of rising order, from the top', { ...falling(null, 3), direction: 'rising' as const }, ['1', '2', '3']],
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
    await account.observe('watchlist', itemsWith('id', ['aa']), {
      proof: { kind: 'interval', direction: 'rising', after: 'a', through: 'aa' },
    });
    const keys = (await account.suspects('watchlist')).map(({ key }) => key);
    expect(keys).toEqual(['10', 'b']);
  });
});
