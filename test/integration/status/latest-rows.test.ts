import { type QueryResult, sql } from 'kysely';
import { expect, it } from 'vitest';
import { Db } from '../../../src/postgres/db.ts';
import { latestRows } from '../../../src/status/lookup-store.ts';
import { databaseForEach } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';

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
