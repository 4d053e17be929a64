import { dueWork } from '../../../src/daemon/work-finder.ts';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  addHints,
  forgetOtherHints,
  nextHints,
  type StoredHint,
  updateHints,
} from '../../../src/mirror/hint-store.ts';
import { COLLECTION_NAMES, type CollectionName, type Scope } from '../../../src/model/collections.ts';
import type { HintedRow } from '../../../src/model/hint.ts';
import type { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
const job = (key: string): HintedRow => ({ collection: 'research_jobs', parent: '', key });

/** The scope's hints that are due. */
async function dueHints(db: MirroredAccount['database']['db'], scope: Scope): Promise<readonly StoredHint[]> {
  const others: Scope[] = [];
  for (;;) {
    const next = await nextHints(db, scope.userId, [scope.collection], others);
    if (next === undefined || next.scope.parent === scope.parent) return next?.hints ?? [];
    others.push(next.scope);
  }
}

const done = (hint: StoredHint) => ({ ...hint, dueAt: null });

/** The store's functions for one account, its clock read from the database. */
async function hintsOf(account: MirroredAccount) {
  const { db } = account.database;
  const { userId } = account.fence;
  const jobs = account.scope('research_jobs');
  const now = async (): Promise<Date> => {
    const { rows } = await db.sql<{ now: Date }>`select clock_timestamp() as now`;
    return rows[0]?.now ?? new Date(Number.NaN);
  };
  return {
    now,
    add: async (rows: readonly HintedRow[], inMs = 0) =>
      addHints(db, userId, rows, new Date((await now()).getTime() + inMs)),
    next: (among: readonly string[] = COLLECTION_NAMES, except: Parameters<typeof nextHints>[3] = []) =>
      nextHints(db, userId, among, except),
    /** Of jobs. */
    due: () => dueHints(db, jobs),
    update: (read: Parameters<typeof updateHints>[2]) =>
      db.transaction((trx) => updateHints(trx, jobs, read)),
    accounts: async () => [...(await dueWork(db, [], [], new Date())).hinted],
  };
}

describe('hints', () => {
  let account: MirroredAccount;
  let hints: Awaited<ReturnType<typeof hintsOf>>;
  beforeEach(async () => {
    account = await newAccount();
    hints = await hintsOf(account);
  });
  /** Those that are due: key, how often it was named, step. */
  const told = async (): Promise<string[]> =>
    (await hints.due()).map(({ key, seq, step }) => `${key} ${seq} ${step}`);

  it('are one for each row, and count how often it was named', async () => {
    await hints.add([job('1'), job('2'), job('1')]);
    await hints.add([job('1')]);
    expect(await told()).toEqual(['1 2 0', '2 1 0']);
  });

  it('that are due further ahead than any may be are due: the database’s clock went back', async () => {
    await hints.add([job('1')], 3_600_000);
    expect(await hints.next()).toMatchObject({ inMs: 0 });
    expect((await hints.due()).map(({ key }) => key)).toEqual(['1']);
    expect(await hints.accounts()).toContain(account.fence.userId);
  });

  it('that wait to be read keep their place when their row is named again', async () => {
    await hints.add([job('1')], -2_000);
    await hints.add([job('2')], -1_000);
    await hints.add([job('1')]);
    const [one, two] = await hints.due();
    expect([one?.key, two?.key]).toEqual(['1', '2']);
    expect(one?.hintedAt.getTime()).toBeGreaterThan(two?.hintedAt.getTime() ?? 0);
  });

  it('are none if nothing is named or the account is unknown', async () => {
    const { db, kysely } = account.database;
    await addHints(db, account.fence.userId, [], new Date());
    await addHints(db, '999999', [job('1')], new Date());
    const { rows } =
      await sql`select from mirror_sync.hint where _user_id in (${account.fence.userId}, 999999)`.execute(
        kysely,
      );
    expect(rows).toEqual([]);
  });

  it('give the scope whose hint is due first, and the time until then', async () => {
    expect(await hints.next()).toBeUndefined();
    await hints.add([job('1')], 500_000);
    const waiting = await hints.next();
    expect(waiting?.scope).toEqual(account.scope('research_jobs'));
    expect(waiting?.inMs).toBeGreaterThan(400_000);
    expect(waiting?.inMs).toBeLessThanOrEqual(500_000);
    expect(await hints.due()).toEqual([]);

    await hints.add([{ collection: 'list_items', parent: '7', key: '' }]);
    expect(await hints.next()).toMatchObject({
      scope: account.scope('list_items', '7'),
      inMs: 0,
      hints: [{ key: '' }],
    });
    const busy = [{ collection: 'list_items', parent: '7' }] as const;
    expect((await hints.next(COLLECTION_NAMES, busy))?.scope.collection).toBe('research_jobs');
    expect((await hints.next(['research_jobs', 'lists']))?.scope.collection).toBe('research_jobs');
    expect(await hints.next(['lists'])).toBeUndefined();
  });

  it('of one event come in the order in which they are read once: a list’s row before its items', async () => {
    await hints.add([
      { collection: 'list_items', parent: '7', key: '' },
      { collection: 'lists', parent: '', key: '7' },
    ]);
    expect((await hints.next())?.scope.collection).toBe('lists');
  });

  it('are removed when their row has changed, and due again when it has not', async () => {
    await hints.add([job('1'), job('2')]);
    const [one, two] = await hints.due();
    if (one === undefined || two === undefined) throw new Error('two hints were added');
    const dueAt = new Date((await hints.now()).getTime() + 500_000);
    await hints.update([done(one), { ...two, dueAt }]);
    expect(await hints.due()).toEqual([]);
    expect((await hints.next())?.inMs).toBeGreaterThan(400_000);
    await hints.add([job('2')]);
    expect(await told()).toEqual(['2 2 0']);
  });

  it('that an event renewed while their row was read stay due', async () => {
    await hints.add([job('1'), job('2')]);
    const [one, two] = await hints.due();
    if (one === undefined || two === undefined) throw new Error('two hints were added');
    await hints.add([job('1'), job('2')]);
    const later = new Date((await hints.now()).getTime() + 500_000);
    await hints.update([done(one), { ...two, dueAt: later }]);
    expect(await told()).toEqual(['1 2 0', '2 2 0']);
  });

  it('of collections that are not mirrored any more are forgotten', async () => {
    await hints.add([job('1'), { collection: 'lists', parent: '', key: '2' }]);
    const { db } = account.database;
    await forgetOtherHints(db, account.fence, ['lists']);
    expect((await hints.next())?.scope.collection).toBe('lists');
    expect(await hints.due()).toEqual([]);
  });

  it('of any account are found by one look', async () => {
    const [first, second, third] = [await newAccount(), await newAccount(), await newAccount()];
    await (await hintsOf(first)).add([job('1'), job('2')]);
    await (await hintsOf(second)).add([job('1')], 60_000);
    const due = await (await hintsOf(third)).accounts();
    expect(due.filter((id) => id === first.fence.userId)).toHaveLength(1);
    expect(due).not.toContain(second.fence.userId);
    expect(due).not.toContain(third.fence.userId);
  });

  it('of one storm never deadlock, in any order of their rows', async () => {
    const rows = Array.from({ length: 200 }, (_, at) => job(String(at)));
    const storm = Array.from({ length: 20 }, (_, at) => hints.add(at % 2 === 0 ? rows : rows.toReversed()));
    const update = async (): Promise<void> => {
      for (let times = 0; times < 10; times += 1) await hints.update((await hints.due()).map(done));
    };
    await Promise.all([...storm, update(), update()]);
    await update();
    expect(await hints.due()).toEqual([]);
  });
});

it('hints of one scope are read and removed alone: those of other lists, collections and accounts stay', async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { db } = account.database;
  const scopes: readonly Scope[] = [
    account.scope('list_items', '7'),
    account.scope('list_items', '8'),
    account.scope('lists'),
    other.scope('list_items', '7'),
  ];
  const now = new Date(Date.UTC(2026, 0, 1));
  // The same keys everywhere.
  for (const { userId, collection, parent } of scopes) {
    const rows = ['1', '2', '3'].map((key) => ({ collection, parent, key }));
    await addHints(db, userId, rows, now);
  }
  const due = (): Promise<string[]> =>
    Promise.all(scopes.map(async (scope) => (await dueHints(db, scope)).map(({ key }) => key).join()));
  expect(await due()).toEqual(['1,2,3', '1,2,3', '1,2,3', '1,2,3']);

  const [first] = scopes;
  if (first === undefined) throw new Error('there are four');
  const [one, two] = await dueHints(db, first);
  if (one === undefined || two === undefined) throw new Error('three were added');
  // As late as a hint's next reading may be at all (clock-step.ts), by the database's clock: less the test's own
  // time.
  const { rows } = await db.sql<{ at: Date }>`select clock_timestamp() + interval '9 minutes' as at`;
  const [{ at: later } = { at: now }] = rows;
  await db.transaction((trx) => updateHints(trx, first, [done(one), { ...two, dueAt: later }]));
  expect(await due()).toEqual(['3', '1,2,3', '1,2,3', '1,2,3']);

  const next = async (userId: string, among: readonly CollectionName[]): Promise<Scope | undefined> =>
    (await nextHints(db, userId, among, []))?.scope;
  expect(await next(other.fence.userId, ['lists', 'list_items'])).toEqual(other.scope('list_items', '7'));
  expect(await next(other.fence.userId, ['lists'])).toBeUndefined();
});
