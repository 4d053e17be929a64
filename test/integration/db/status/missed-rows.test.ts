import { afterAll, beforeAll, expect, it } from 'vitest';
import { readMissedRows } from '../../../../src/db/status/missed-rows.ts';
import {
  createMigratedDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { deleteAllBut, itemsWith, jobs, SNAPSHOT } from '../../../support/mirror/deleting.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

let database: MigratedDatabase;
beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.drop());

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
const groups = async (userId: string) =>
  (await readMissedRows(database.db))
    .filter((each) => each.userId === userId)
    .map(({ collection, kind, keyless, walking, rows, examples }) => ({
      collection,
      kind,
      keyless,
      walking,
      rows,
      examples,
    }));

it('groups rows that one answer missed, and those that are proven gone', async () => {
  const account = await MirroredAccount.make(database, '1');
  await account.observe('research_jobs', jobs(...upTo(60)));
  expect(await deleteAllBut(account, 'research_jobs', jobs(...upTo(40)))).toMatchObject({ blocked: 20 });
  await account.observe('research_jobs', jobs(...upTo(38)), { proof: SNAPSHOT });
  const alike = { collection: 'research_jobs', keyless: false, walking: false };
  expect(await groups('1')).toEqual([
    { ...alike, kind: 'proven', rows: 20, examples: ['41', '42', '43', '44', '45'] },
    { ...alike, kind: 'snapshot', rows: 2, examples: ['39', '40'] },
  ]);
});

it('names items with their list, and tells where an item without an ID or a walk stands in the way', async () => {
  const account = await MirroredAccount.make(database, '2');
  await account.observe('lists', itemsWith('list_id', [7, 8]));
  for (const parent of ['7', '8']) {
    await account.observe('list_items', itemsWith('id', ['a', 'b', 'c']), { parent });
  }
  await account.age(account.gracePeriodMs);
  await account.observe('list_items', itemsWith('id', ['a']), { parent: '7', proof: SNAPSHOT });
  await account.observe('list_items', itemsWith('id', ['b', 'c']), { parent: '8', proof: SNAPSHOT });
  const alike = { collection: 'list_items', kind: 'snapshot', keyless: false, walking: false };
  expect(await groups('2')).toEqual([{ ...alike, rows: 3, examples: ['7:b', '7:c', '8:a'] }]);

  await account.query(`
    insert into mirror.quarantine (_user_id, collection, parent, item_hash, item, reason, first_seen_at, last_seen_at)
    values (2, 'list_items', '7', '', '{}', 'has no cursor ID', now(), now())`);
  await account.query(`
    update mirror_sync.scope set full_walk = '{}' where _user_id = 2 and collection = 'list_items' and parent = '8'`);
  expect(await groups('2')).toEqual([
    { ...alike, walking: true, rows: 1, examples: ['8:a'] },
    { ...alike, keyless: true, rows: 2, examples: ['7:b', '7:c'] },
  ]);
});
