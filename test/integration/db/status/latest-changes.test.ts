import { type QueryResult, sql } from 'kysely';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { followChanges } from '../../../../src/app/status/follow-changes.ts';
import { Db } from '../../../../src/db/connection/db.ts';
import { latestMarks, readLatestChanges } from '../../../../src/db/status/latest-changes.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { jobs } from '../../../support/mirror/deleting.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

let database: MigratedDatabase;
beforeEach(async () => {
  database = await createMigratedDatabase();
});
afterEach(() => database.drop());

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
const latest = async (db: Db) => readLatestChanges(db, await latestMarks(db));

/** Keeps the plan of each statement. */
class Planned extends Db {
  readonly plans: string[] = [];
  override async sql<Row>(text: TemplateStringsArray, ...values: unknown[]): Promise<QueryResult<Row>> {
    const statement = sql<Row>(text, ...values);
    const { rows } = await sql<Record<'QUERY PLAN', string>>`explain ${statement}`.execute(this);
    this.plans.push(...rows.map((row) => row['QUERY PLAN']));
    return statement.execute(this);
  }
}

it('counts a first load, and shows beside it what else happened, however long ago', async () => {
  const account = await MirroredAccount.make(database, '1');
  const list = (note: string): string => JSON.stringify([{ id: 'a/b', note }]);
  await account.observe('lists', JSON.stringify([{ list_id: 7 }]));
  await account.observe('list_items', list('old'), { parent: '7' });
  await account.observe('list_items', list('x'.repeat(1000)), { parent: '7' });
  await account.observe('research_jobs', jobs(...upTo(3_000)));
  const found = await latest(database.db);
  expect(found.slice(0, 2)).toEqual([
    expect.objectContaining({
      collection: 'research_jobs',
      op: 'insert',
      rows: 3_000,
      more: false,
      key: null,
    }),
    expect.objectContaining({
      collection: 'list_items',
      op: 'update',
      key: '7:a/b',
      field: 'note',
      before: '"old"',
      after: `"${'x'.repeat(159)}…`,
    }),
  ]);
  expect(
    found
      .map(({ collection, op, key }) => `${collection} ${op} ${key}`)
      .slice(2)
      .toSorted(),
  ).toEqual(['list_items insert 7:a/b', 'lists insert 7']);
});

it('shows three fields of a change, its status first, and says how many more there are', async () => {
  const account = await MirroredAccount.make(database, '1');
  const job = (value: number): string =>
    JSON.stringify([{ job_id: 1, a: value, b: value, c: value, d: value, status: `s${value}` }]);
  await account.observe('research_jobs', job(1));
  await account.observe('research_jobs', job(2));
  const found = await latest(database.db);
  expect(found.map(({ op, field, moreFields }) => [op, field, moreFields])).toEqual([
    ['update', 'status', 0],
    ['update', 'a', 0],
    ['update', 'b', 2],
    ['insert', null, 0],
  ]);
});

it('reads the ends of indexes, not the tables', async () => {
  const account = await MirroredAccount.make(database, '2');
  for (const status of ['running', 'done']) {
    const all = upTo(5_000).map((id) => ({ job_id: id, status }));
    await account.observe('research_jobs', JSON.stringify(all));
  }
  await account.query('analyze');
  const planned = new Planned(database.kysely, 'mirror');
  await latest(planned);
  expect(planned.plans.join('\n')).toContain('Index Scan Backward using research_jobs_change');
  expect(planned.plans.filter((line) => /Seq Scan on research_jobs(?:_history)? /.test(line))).toEqual([]);
});

it('asks again only once an account has changed, or after a minute, and not all the time', async () => {
  const clock = new VirtualClock();
  const account = await MirroredAccount.make(database, '3');
  const follow = followChanges(clock);
  const read = (): Promise<unknown> => follow(database.db);
  const first = await read();
  await account.observe('watchlist', '[{"id":"new"}]');
  expect(await read()).toBe(first);
  await clock.advance(3_000);
  const second = await read();
  expect(second).toContainEqual(expect.objectContaining({ userId: '3', key: 'new', op: 'insert' }));
  await clock.advance(3_000);
  expect(await read()).toBe(second);
  await clock.advance(60_000);
  expect(await read()).not.toBe(second);
});
