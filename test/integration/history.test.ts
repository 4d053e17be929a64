import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.ts';
import { MirroredAccount } from '../support/mirrored-account.ts';

let database: MigratedDatabase;

beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

describe('history', () => {
  it('has nothing of a first load, and one version more for each changed row', async () => {
    const account = await MirroredAccount.make(database, '1');
    await account.page('research_jobs', '[{"job_id":1,"status":"a"},{"job_id":2,"status":"a"}]');
    const versions = `select job_id, status, _change_id, _op from mirror.research_jobs_history where _user_id = 1 order by _change_id`;
    expect(await account.query(versions)).toEqual([]);
    await account.page('research_jobs', '[{"job_id":1,"status":"b"},{"job_id":2,"status":"a"}]');
    await account.page('research_jobs', '[{"job_id":1,"status":"b"},{"job_id":2,"status":"a"}]');
    expect(await account.query(versions)).toEqual([
      { job_id: '1', status: 'a', _change_id: '1', _op: 'update' },
    ]);
  });
});
