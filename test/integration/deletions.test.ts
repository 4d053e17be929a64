import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DoubtChange } from '../../src/model/absence.ts';
import { NO_DOUBTS } from '../../src/model/absence.ts';
import type { MirrorOptions } from '../../src/mirror/mirror.ts';
import { scopesInDoubt } from '../../src/mirror/deletion/candidates.ts';
import { predecessor } from '../../src/mirror/known-rows.ts';
import { liveKeysMissing } from '../../src/mirror/deletion/missing-rows.ts';
import { leastCompleteAsOf } from '../../src/mirror/scope-store.ts';
import { Superseded } from '../../src/mirror/scope-row.ts';
import { falling, itemsWith, jobs, liveJobs, proveAbsent, SNAPSHOT } from '../support/deleting.ts';
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.ts';
import { MirroredAccount } from '../support/mirrored-account.ts';

let database: MigratedDatabase;
let nextUser = 0;

beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

const SETTLE = 60_000;

const newAccount = (options: Partial<MirrorOptions> = {}): Promise<MirroredAccount> => {
  nextUser += 1;
  return MirroredAccount.make(database, String(nextUser), options);
};

/** Jobs that came the settle time ago. */
async function withJobs(...ids: number[]): Promise<MirroredAccount> {
  const account = await newAccount();
  await account.observe('research_jobs', jobs(...ids));
  await account.age(SETTLE);
  return account;
}

const keysInDoubt = async (account: MirroredAccount): Promise<string[]> =>
  (await account.candidates('research_jobs')).map(({ key }) => key);

describe('a row that the source has no more', () => {
  it('is deleted by two proofs, the settle time apart', async () => {
    const account = await withJobs(1, 2, 3);
    await account.observe('research_jobs', jobs(1, 3), { proof: SNAPSHOT });
    expect(await account.candidates('research_jobs')).toMatchObject([
      { key: '2', kind: 'snapshot', proven: false },
    ]);
    const nothing = { deleted: 0, along: new Map(), held: 0, waiting: 1, changed: [] };
    expect(await account.applyDeletions('research_jobs')).toEqual(nothing);
    await account.age(SETTLE);
    await account.observe('research_jobs', jobs(1, 3), { proof: SNAPSHOT });
    expect(await account.candidates('research_jobs')).toMatchObject([{ key: '2', proven: true }]);
    expect(await account.applyDeletions('research_jobs')).toEqual({
      deleted: 1,
      along: new Map(),
      held: 0,
      waiting: 0,
      changed: [{ table: 'research_jobs', userId: account.fence.userId, changeId: '4' }],
    });
    const rows = await account.query(`
      select job_id, _deleted_at is not null as deleted, _deleted_at = _changed_at as moved, _change_id
      from mirror.research_jobs where _user_id = ${account.fence.userId} order by job_id`);
    expect(rows).toEqual([
      { job_id: '1', deleted: false, moved: null, _change_id: '1' },
      { job_id: '2', deleted: true, moved: true, _change_id: '4' },
      { job_id: '3', deleted: false, moved: null, _change_id: '3' },
    ]);
    expect(await account.candidates('research_jobs')).toEqual([]);
  });

  it('stays when the second proof comes sooner, however it is repeated', async () => {
    const account = await withJobs(1, 2);
    for (let second = 0; second < 60; second += 20) {
      await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
      await account.age(19_000);
    }
    await account.applyDeletions('research_jobs', { accept: true });
    expect(await liveJobs(account)).toEqual([1, 2]);
    // Sent before the settle time was over, answered after it.
    await account.age(SETTLE);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT, sentAgo: 58_000 });
    expect(await account.candidates('research_jobs')).toMatchObject([{ key: '2', proven: false }]);
  });

  it('is in no doubt while it came, changed or was back less than the settle time before', async () => {
    const account = await newAccount();
    await account.observe('research_jobs', jobs(1, 2));
    await account.age(SETTLE - 5_000);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    expect(await keysInDoubt(account)).toEqual([]);
    await account.observe('research_jobs', '[{"job_id":2,"status":"new"}]');
    await account.age(SETTLE - 5_000);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    expect(await keysInDoubt(account)).toEqual([]);
    await account.age(5_000);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    expect(await keysInDoubt(account)).toEqual(['2']);
  });

  it('that is seen between the proofs needs two new ones', async () => {
    const account = await withJobs(1, 2);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    await account.observe('research_jobs', jobs(2));
    expect(await keysInDoubt(account)).toEqual([]);
    await account.age(SETTLE);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0, waiting: 1 });
  });

  it('that is seen after both proofs stays, too', async () => {
    const account = await withJobs(1, 2);
    await proveAbsent(account, 'research_jobs', jobs(1));
    await account.observe('research_jobs', jobs(2));
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0, held: 0, waiting: 0 });
    expect(await liveJobs(account)).toEqual([1, 2]);
  });

  it('that can’t be mirrored as it is now is there nevertheless', async () => {
    const account = await withJobs(1, 2);
    await proveAbsent(account, 'research_jobs', '[{"job_id":1},{"job_id":2,"n":1e200000}]');
    expect(await keysInDoubt(account)).toEqual([]);
  });

  it('goes with what was kept of it: no row that may change, nothing in quarantine', async () => {
    const account = await newAccount();
    await account.observe('research_jobs', '[{"job_id":1,"status":"open"},{"job_id":2,"status":"open"}]');
    await account.observe('research_jobs', '[{"job_id":1,"status":"open","n":1e200000}]');
    await proveAbsent(account, 'research_jobs', jobs(2));
    await account.applyDeletions('research_jobs');
    const user = account.fence.userId;
    expect(await account.query(`select key from mirror_sync.unsettled where _user_id = ${user}`)).toEqual([]);
    expect(await account.query(`select key from mirror.quarantine where _user_id = ${user}`)).toEqual([]);
  });

  it('is told in sync_log, and in the counters', async () => {
    const account = await withJobs(1, 2, 3);
    await proveAbsent(account, 'research_jobs', jobs(3));
    await account.applyDeletions('research_jobs');
    const user = account.fence.userId;
    expect(
      await account.query(
        `select collection, kind, outcome, deleted, requests from mirror.sync_log where _user_id = ${user}`,
      ),
    ).toEqual([
      { collection: 'research_jobs', kind: 'deletion', outcome: 'completed', deleted: '2', requests: '0' },
    ]);
    expect(
      await account.query(`select live_rows, deleted_rows from mirror.freshness where _user_id = ${user}`),
    ).toEqual([{ live_rows: '1', deleted_rows: '2' }]);
    expect((await account.storedScope('research_jobs')).liveRows).toBe(1);
  });

  it('goes in several transactions where there are many, and none is left out', async () => {
    const account = await newAccount();
    const ids = Array.from({ length: 4_500 }, (_, id) => id);
    await account.observe('research_jobs', jobs(...ids));
    await proveAbsent(account, 'research_jobs', jobs(0));
    expect(await account.applyDeletions('research_jobs', { accept: true })).toMatchObject({
      deleted: 4_499,
      waiting: 0,
      changed: [{ changeId: '8999' }],
    });
    expect(await liveJobs(account)).toEqual([0]);
    const log = await account.query<{ deleted: string }>(
      `select deleted from mirror.sync_log where _user_id = ${account.fence.userId} order by walk_id`,
    );
    expect(log.map(({ deleted }) => deleted)).toEqual(['2000', '2000', '499']);
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
  ])('%s tells of exactly the rows inside', async (_, proof, missing) => {
    const account = await withJobs(1, 2, 3, 4, 5, 6, 7, 8, 9);
    await account.observe('research_jobs', proof.through === '7' ? jobs(7) : jobs(5), { proof });
    expect(await keysInDoubt(account)).toEqual(missing);
  });

  it('of text keys is one of their order: shorter first, then bytewise', async () => {
    const account = await newAccount();
    await account.observe('watchlist', itemsWith('id', ['9', '10', 'a', 'é', 'Z', 'aa', 'ab', 'b']));
    await account.age(SETTLE);
    await account.observe('watchlist', itemsWith('id', ['aa']), {
      proof: { kind: 'interval', direction: 'rising', after: 'a', through: 'aa' },
    });
    const keys = (await account.candidates('watchlist')).map(({ key }) => key);
    expect(keys).toEqual(['10', 'b']);
  });

  it('is no proof any more once the order is contradicted; a snapshot is', async () => {
    const account = await withJobs(1, 2, 3, 4);
    await account.observe('research_jobs', jobs(4, 2), { proof: falling(null, 2) });
    await account.observe('research_jobs', jobs(2, 3, 4), { proof: SNAPSHOT });
    await account.age(SETTLE);
    await account.observe('research_jobs', jobs(4, 2), { proof: falling(null, 2) });
    expect(await account.candidates('research_jobs')).toMatchObject([
      { key: '1', kind: 'snapshot' },
      { key: '3', kind: 'interval' },
    ]);
    await account.observe('research_jobs', jobs(2, 4), { contradiction: true });
    expect(await keysInDoubt(account)).toEqual(['1']);
  });

  it('does not prove what a snapshot began: its own doubt takes the place of the older one', async () => {
    const account = await withJobs(1, 2, 3);
    await account.observe('research_jobs', jobs(3, 1), { proof: SNAPSHOT });
    await account.age(SETTLE);
    await account.observe('research_jobs', jobs(3, 1), { proof: falling(null, 1) });
    expect(await account.candidates('research_jobs')).toMatchObject([{ kind: 'interval', proven: false }]);
    await account.observe('research_jobs', jobs(1, 3), { contradiction: true });
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0, waiting: 0 });
  });

  it('whose second proof was written is no proof either', async () => {
    const account = await withJobs(1, 2, 3);
    for (let proof = 1; proof <= 2; proof += 1) {
      await account.observe('research_jobs', jobs(3, 1), { proof: falling(null, 1) });
      await account.age(SETTLE);
    }
    expect(await account.candidates('research_jobs')).toMatchObject([{ key: '2', proven: true }]);
    await account.observe('research_jobs', jobs(1, 3), { contradiction: true });
    expect(await account.applyDeletions('research_jobs')).toMatchObject({ deleted: 0, waiting: 0 });
    expect(await liveJobs(account)).toEqual([1, 2, 3]);
  });
});

describe('doubts that no page raises', () => {
  const pair = (change: Partial<DoubtChange>): DoubtChange => ({ ...NO_DOUBTS, ...change });
  const record = (account: MirroredAccount, change: Partial<DoubtChange>, obs: number) =>
    account.mirror.recordDoubts(account.fence, account.scope('research_jobs'), pair(change), obs);

  it('are raised by one whole walk and proven by the next', async () => {
    const account = await withJobs(1, 2);
    await record(account, { add: [{ key: '2', kind: 'pair' }] }, 1);
    expect(await account.candidates('research_jobs')).toMatchObject([{ key: '2', kind: 'pair', obs: 1 }]);
    await record(account, { prove: ['2'] }, 1);
    expect(await account.applyDeletions('research_jobs', { accept: true })).toMatchObject({ deleted: 1 });
    expect(await liveJobs(account)).toEqual([1]);
  });

  it('give way to what one answer proves, which begins anew', async () => {
    const account = await withJobs(1, 2);
    await record(account, { add: [{ key: '2', kind: 'pair' }] }, 1);
    await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
    expect(await account.candidates('research_jobs')).toMatchObject([{ kind: 'snapshot', proven: false }]);
  });

  it('are out of date when a later page is written: it may have seen the rows', async () => {
    const account = await withJobs(1, 2);
    await account.observe('research_jobs', jobs(2));
    await expect(record(account, { add: [{ key: '2', kind: 'pair' }] }, 1)).rejects.toBeInstanceOf(
      Superseded,
    );
    expect(await keysInDoubt(account)).toEqual([]);
  });

  it('rest on the live rows that a walk did not see', async () => {
    const account = await newAccount();
    await account.observe('watchlist', itemsWith('id', ['1', '10', '9', 'a']));
    await account.age(SETTLE);
    await account.observe('watchlist', itemsWith('id', ['new']));
    const seen = new Set(['10', 'x']);
    const { kysely, schema } = database;
    const missing = (before: Date) =>
      liveKeysMissing(kysely, schema, account.scope('watchlist'), (key) => seen.has(key), before);
    const keys = (await missing(new Date(Date.now() - SETTLE / 2))).map(({ key }) => key);
    expect(keys).toEqual(['1', '9', 'a']);
    expect(await missing(new Date(Date.now() + SETTLE))).toHaveLength(4);
    expect(await missing(new Date(0))).toEqual([]);
  });

  it('are found over more rows than one statement reads', async () => {
    const account = await newAccount();
    await account.query(`
      insert into mirror.research_jobs (_user_id, job_id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select ${account.fence.userId}, n, now(), now() - interval '1 hour', n, '', '{}' from generate_series(1, 25000) n`);
    const { kysely, schema } = database;
    const gone = await liveKeysMissing(
      kysely,
      schema,
      account.scope('research_jobs'),
      (key) => Number(key) % 10_000 !== 0,
      new Date(),
    );
    expect(gone.map(({ key }) => key)).toEqual(['10000', '20000']);
  });
});

describe('a page that very many rows are missing from', () => {
  it.each([
    ['research_jobs', 'job_id', '{"job_id":0}'],
    ['watchlist', 'id', '{"id":"x"}'],
  ] as const)('has all of %s in doubt: more than one statement reads, each once', async (name, key, item) => {
    const account = await newAccount();
    await account.observe(name, `[${item}]`);
    await account.query(`
      insert into mirror.${name} (_user_id, ${key}, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select ${account.fence.userId}, n, now(), now() - interval '1 hour', n, '', '{}' from generate_series(1, 41000) n`);
    for (let proof = 1; proof <= 2; proof += 1) {
      await account.observe(name, `[${item}]`, { proof: SNAPSHOT });
      const candidates = await account.candidates(name);
      expect(candidates).toHaveLength(41_000);
      expect(candidates.filter(({ proven }) => proven)).toHaveLength(proof === 1 ? 0 : 41_000);
      await account.age(SETTLE);
    }
  });
});

describe('rows in doubt', () => {
  it('are told by scope: since when, of what kind, how many', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2]));
    for (const parent of ['1', '2']) {
      await account.observe('list_items', itemsWith('id', ['a', 'b', 'c']), { parent });
    }
    await account.age(SETTLE);
    const { kysely, schema } = database;
    const told = () => scopesInDoubt(kysely, schema, account.fence.userId, 'list_items');
    expect(await told()).toEqual([]);
    await account.observe('list_items', itemsWith('id', ['a', 'c']), { parent: '2', proof: SNAPSHOT });
    await account.age(SETTLE);
    await account.observe('list_items', itemsWith('id', ['a']), { parent: '1', proof: SNAPSHOT });
    await account.observe('list_items', itemsWith('id', ['a']), { parent: '2', proof: SNAPSHOT });
    const [first, second] = await told();
    expect(first).toMatchObject({ scope: { parent: '1' }, kinds: ['snapshot'], waiting: 2, proven: 0 });
    expect(second).toMatchObject({ scope: { parent: '2' }, kinds: ['snapshot'], waiting: 1, proven: 1 });
    const [youngest] = (await account.candidates('list_items', '2')).toSorted((a, b) => b.at - a.at);
    expect(second?.ripeAt).toEqual(new Date(youngest?.at ?? 0));
  });

  it('are no rows to begin a page at', async () => {
    const account = await withJobs(1, 2, 3, 4);
    await account.observe('research_jobs', jobs(4, 1), { proof: falling(null, 1) });
    const { kysely, schema } = database;
    const scope = account.scope('research_jobs');
    expect(await predecessor(kysely, schema, scope, 'falling', '1', 1)).toBe('4');
    expect(await predecessor(kysely, schema, scope, 'rising', '4', 1)).toBe('1');
    expect(await predecessor(kysely, schema, scope, 'falling', '1', 5)).toBe('4');
  });
});

describe('as of when everything is mirrored', () => {
  it('is kept for each scope, and the least of them tells of a collection', async () => {
    const account = await newAccount();
    await account.observe('lists', itemsWith('list_id', [1, 2, 3]));
    const { kysely, schema } = database;
    const least = () => leastCompleteAsOf(kysely, schema, account.fence.userId, 'list_items');
    const complete = (parent: string, day: number) =>
      account.page('list_items', '[]', {
        parent,
        decide: () => ({ scope: { completeAsOf: new Date(Date.UTC(2026, 0, day)) } }),
      });
    await complete('1', 2);
    await complete('2', 1);
    expect(await least()).toEqual({ completeAsOf: new Date('2026-01-01T00:00:00Z'), incomplete: true });
    await complete('3', 3);
    expect(await least()).toEqual({ completeAsOf: new Date('2026-01-01T00:00:00Z'), incomplete: false });
    expect((await account.storedScope('list_items', '1')).completeAsOf).toEqual(
      new Date('2026-01-02T00:00:00Z'),
    );
    await proveAbsent(account, 'lists', itemsWith('list_id', [1, 3]));
    await account.applyDeletions('lists');
    expect(await least()).toEqual({ completeAsOf: new Date('2026-01-02T00:00:00Z'), incomplete: false });
  });
});
