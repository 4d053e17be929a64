import { expect, it } from 'vitest';
import { openInstallation } from '../../src/postgres/installation.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { createEmptyDatabase, databaseForEach } from '../support/databases/migrated-database.ts';
import { copyTo, rowsOf } from '../support/mirror/copied-mirror.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';

const spread = databaseForEach();
const copy = databaseForEach(createEmptyDatabase);

it('a copy of a distributed mirror has every row of every node, on one server', async () => {
  for (const userId of ['1', '2', '3', '4']) {
    const account = await MirroredAccount.make(spread, userId);
    await account.single('{"email": "a@example.com", "credits": 12.50}');
    await account.page('research_jobs', '[{"job_id":1,"status":"a"},{"job_id":2,"score":0.12345678901234567890123}]');
    await account.page('research_jobs', '[{"job_id":1,"status":"b","later":7}]');
    await account.page('lists', '[{"list_id":9}]');
    await account.page('list_items', '[{"id":"i1","domain":"a.example"}]', { parent: '9' });
    await account.query(`select mirror.submit('research', '{"a": 1}', user_id => ${userId})`);
  }
  const submit = { enabled: true, maxQueued: 7 };
  await openInstallation({ db: spread.db, host: undefined, clock: systemClock, submit });
  await copyTo(spread, copy);
  const expected = await rowsOf(spread.db);
  expect(expected.get('mirror.research_jobs')).toHaveLength(8);
  expect(expected.get('mirror.research_jobs_history')).toHaveLength(4);
  expect(await rowsOf(copy.db)).toEqual(expected);
});
