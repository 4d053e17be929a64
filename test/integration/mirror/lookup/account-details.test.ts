import { type QueryResult, sql } from 'kysely';
import { expect, it } from 'vitest';
import { Db } from '../../../../src/db/connection/db.ts';
import { latestRows, readLastDay } from '../../../../src/mirror/lookup/search-mirror.ts';
import { databaseForEach } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const database = databaseForEach();

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

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

it('the latest changes are read at the ends of indexes, not the tables', async () => {
  const account = await MirroredAccount.make(database, '2');
  for (const status of ['running', 'done']) {
    const all = upTo(5_000).map((id) => ({ job_id: id, status }));
    await account.observe('research_jobs', JSON.stringify(all));
  }
  await account.query('analyze');
  const planned = new Planned(database.kysely, 'mirror');
  await latestRows(planned, '2');
  expect(planned.plans.join('\n')).toContain('Index Scan Backward using research_jobs_change');
  expect(planned.plans.filter((line) => /Seq Scan on research_jobs(?:_history)? /.test(line))).toEqual([]);
});

/** A walk of the account. @param ago when it ended, and how long it took (SQL intervals); its rows, its requests */
const walk = (
  id: number,
  collection: string,
  ago: string,
  took: string,
  rows: number,
  requests: number,
): string => `
  insert into mirror.sync_log (_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items,
    inserted, updated, deleted, unchanged, quarantined, requests, rate_limited)
  values (1, ${id}, '${collection}', 'full', now() - interval '${ago}' - interval '${took}', now() - interval '${ago}',
    'complete', 1, 1, ${rows}, ${rows}, ${rows}, 5, 0, ${requests}, 0)`;

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

it('the last day has what the account’s walks of a day did, in the half hours in which they ended', async () => {
  const account = await MirroredAccount.make(database, '1');
  await account.query(walk(1, 'research_jobs', '0', '1 minute', 2, 7));
  await account.query(walk(2, 'account', '0', '1 second', 1, 1));
  await account.query(walk(3, 'list_items', '3 hours', '5 hours', 10, 100));
  await account.query(walk(4, 'lists', '25 hours', '1 minute', 1_000, 1_000));
  const { changes, requests } = await readLastDay(database.db, '1');
  expect([changes.length, sum(changes), changes.at(-1)]).toEqual([48, 36, 6]);
  expect([requests.length, sum(requests), requests.at(-1)]).toEqual([48, 108, 8]);
  expect([changes[41], requests[41]]).toEqual([30, 100]);
});

it('the last day reads the end of an index, not the whole log', async () => {
  const account = await MirroredAccount.make(database, '1');
  await account.query(`
    insert into mirror.sync_log (_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items,
      inserted, updated, deleted, unchanged, quarantined, requests, rate_limited)
    select 1, n, 'lists', 'poll', now() - n * interval '1 minute', now() - n * interval '1 minute', 'complete', 1, 1, 1,
      0, 0, 0, 0, 1, 0 from generate_series(1, 50000) as n`);
  await account.query('analyze mirror.sync_log');
  const planned = new Planned(database.kysely, 'mirror');
  expect(sum((await readLastDay(planned, '1')).requests)).toBeGreaterThan(1_380);
  expect(planned.plans.join('\n')).toMatch(/Index Scan (?:Backward )?(?:using|on) sync_log_started/);
  expect(planned.plans.join('\n')).not.toContain('Seq Scan');
});
