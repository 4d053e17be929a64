import { beforeEach, describe, expect, it } from 'vitest';
import { dueWork } from '../../../src/daemon/work-finder.ts';
import { addHints, forgetOtherHints, nextHints, type StoredHint, updateHints } from '../../../src/mirror/hint-store.ts';
import { COLLECTION_NAMES, type Scope } from '../../../src/model/collections.ts';
import type { HintedRow } from '../../../src/model/hint.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
const job = (key: string): HintedRow => ({ collection: 'research_jobs', parent: '', key });
const LIST: HintedRow = { collection: 'lists', parent: '', key: '7' };
const ITEMS: HintedRow = { collection: 'list_items', parent: '7', key: '' };
const done = (hint: StoredHint) => ({ ...hint, dueAt: null });

/** The store's functions for an account of its own, its clock read from the database. */
async function hintedAccount() {
  const account = await newAccount();
  const { db } = account.database;
  const { userId } = account.fence;
  const jobs = account.scope('research_jobs');
  const inMs = async (ms: number): Promise<Date> => {
    const { rows } = await db.sql<{ now: Date }>`select clock_timestamp() as now`;
    return new Date(Number(rows[0]?.now) + ms);
  };
  const next = (among: readonly string[] = COLLECTION_NAMES, except: Parameters<typeof nextHints>[3] = []) =>
    nextHints(db, userId, among, except);
  return {
    account,
    db,
    userId,
    inMs,
    next,
    add: async (rows: readonly HintedRow[], ms = 0) => addHints(db, userId, rows, await inMs(ms)),
    /** Those of jobs that are due. */
    due: async () => (await next(['research_jobs']))?.hints ?? [],
    update: (read: Parameters<typeof updateHints>[2]) => db.transaction((trx) => updateHints(trx, jobs, read)),
  };
}

describe('hints', () => {
  let hints: Awaited<ReturnType<typeof hintedAccount>>;
  beforeEach(async () => {
    hints = await hintedAccount();
  });
  /** Those that are due: key, how often it was named, step. */
  const told = async (): Promise<string[]> => (await hints.due()).map(({ key, seq, step }) => `${key} ${seq} ${step}`);
  /** The accounts that a look for due work finds. */
  const found = async () => [...(await dueWork(hints.db, [], [], new Date())).hinted];
  const twoDue = async () => (await hints.due()) as [StoredHint, StoredHint];

  it('are one for each row, and count how often it was named', async () => {
    await hints.add([job('1'), job('2'), job('1')]);
    await hints.add([job('1')]);
    expect(await told()).toEqual(['1 2 0', '2 1 0']);
  });

  it('that are due further ahead than any may be are due: the database’s clock went back', async () => {
    await hints.add([job('1')], 3_600_000);
    expect(await hints.next()).toMatchObject({ inMs: 0, hints: [{ key: '1' }] });
    expect(await found()).toContain(hints.userId);
  });

  it('that wait to be read keep their place when their row is named again', async () => {
    await hints.add([job('1')], -2_000);
    await hints.add([job('2')], -1_000);
    await hints.add([job('1')]);
    const [one, two] = await twoDue();
    expect([one.key, two.key]).toEqual(['1', '2']);
    expect(one.hintedAt.getTime()).toBeGreaterThan(two.hintedAt.getTime());
  });

  it('are none if nothing is named or the account is unknown', async () => {
    await addHints(hints.db, hints.userId, [], new Date());
    await addHints(hints.db, '999999', [job('1')], new Date());
    const { rows } = await hints.db.sql`
      select from mirror_sync.hint where _user_id in (${hints.userId}, 999999)`;
    expect(rows).toEqual([]);
  });

  it('give the scope whose hint is due first, and the time until then', async () => {
    const { account, next } = hints;
    expect(await next()).toBeUndefined();
    await hints.add([job('1')], 500_000);
    const waiting = await next();
    expect(waiting).toMatchObject({ scope: account.scope('research_jobs'), hints: [] });
    expect(waiting?.inMs).toBeGreaterThan(400_000);
    expect(waiting?.inMs).toBeLessThanOrEqual(500_000);
    await hints.add([ITEMS]);
    const items = { scope: account.scope('list_items', '7'), inMs: 0, hints: [{ key: '' }] };
    expect(await next()).toMatchObject(items);
    expect((await next(COLLECTION_NAMES, [ITEMS]))?.scope.collection).toBe('research_jobs');
    expect((await next(['research_jobs', 'lists']))?.scope.collection).toBe('research_jobs');
    expect(await next(['lists'])).toBeUndefined();
  });

  it('of one event come in the order in which they are read once: a list’s row before its items', async () => {
    await hints.add([ITEMS, LIST]);
    expect((await hints.next())?.scope.collection).toBe('lists');
  });

  it('are removed when their row has changed, and due again when it has not', async () => {
    await hints.add([job('1'), job('2')]);
    const [one, two] = await twoDue();
    await hints.update([done(one), { ...two, dueAt: await hints.inMs(500_000) }]);
    expect(await hints.due()).toEqual([]);
    expect((await hints.next())?.inMs).toBeGreaterThan(400_000);
    await hints.add([job('2')]);
    expect(await told()).toEqual(['2 2 0']);
  });

  it('that an event renewed while their row was read stay due', async () => {
    await hints.add([job('1'), job('2')]);
    const [one, two] = await twoDue();
    await hints.add([job('1'), job('2')]);
    await hints.update([done(one), { ...two, dueAt: await hints.inMs(500_000) }]);
    expect(await told()).toEqual(['1 2 0', '2 2 0']);
  });

  it('of collections that are not mirrored any more are forgotten', async () => {
    await hints.add([job('1'), LIST]);
    await forgetOtherHints(hints.db, hints.account.fence, ['lists']);
    expect((await hints.next())?.scope.collection).toBe('lists');
    expect(await hints.due()).toEqual([]);
  });

  it('of any account are found by one look', async () => {
    const later = await hintedAccount();
    const none = await hintedAccount();
    await hints.add([job('1'), job('2')]);
    await later.add([job('1')], 60_000);
    const ids = new Set([hints.userId, later.userId, none.userId]);
    expect((await found()).filter((id) => ids.has(id))).toEqual([hints.userId]);
  });

  it('of one storm never deadlock, in any order of their rows', async () => {
    const rows = [...Array.from({ length: 200 }, (_, at) => job(String(at))), LIST, ITEMS];
    const storm = Array.from({ length: 20 }, (_, at) => hints.add(at % 2 === 0 ? rows : rows.toReversed()));
    const update = async (): Promise<void> => {
      for (let times = 0; times < 10; times += 1) await hints.update((await hints.due()).map(done));
    };
    await Promise.all([...storm, update(), update()]);
    await update();
    expect(await hints.due()).toEqual([]);
  });

  it('of one scope are read and removed alone: those of other lists, collections and accounts stay', async () => {
    const { account, db, next } = hints;
    const other = await hintedAccount();
    const scope = account.scope('list_items', '7');
    const elsewhere = { ...scope, parent: '8' };
    // The same keys everywhere.
    const keys = ['1', '2', '3'];
    const rowsOf = ({ collection, parent }: Scope) => keys.map((key) => ({ collection, parent, key }));
    await hints.add([...rowsOf(scope), ...rowsOf(elsewhere), ...rowsOf(account.scope('lists'))]);
    await other.add(rowsOf(scope));
    const all = await Promise.all([
      next(['list_items'], [elsewhere]),
      next(['list_items'], [scope]),
      next(['lists']),
      other.next(['lists', 'list_items']),
    ]);
    expect(all.map((each) => each?.hints.map(({ key }) => key))).toEqual([keys, keys, keys, keys]);
    const [one, two] = (all[0]?.hints ?? []) as [StoredHint, StoredHint];
    // As late as a hint's next reading may be at all (clock-step.ts), less the test's own time.
    const later = await hints.inMs(9 * 60_000);
    await db.transaction((trx) => updateHints(trx, scope, [done(one), { ...two, dueAt: later }]));
    expect((await next(['list_items'], [elsewhere]))?.hints).toMatchObject([{ key: '3' }]);
    expect(await next(['list_items'], [scope])).toEqual(all[1]);
    expect(await next(['lists'])).toEqual(all[2]);
    expect(await other.next(['lists', 'list_items'])).toEqual(all[3]);
    expect(await other.next(['lists'])).toBeUndefined();
  });
});
