import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { type Cluster, createSite, type Site } from '../../support/databases/cluster.ts';
import { migrateTo, opened, type MigratedDatabase } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { codeRecipes } from '../../support/rules/recipes.ts';

let site: Site;
let mirror: Cluster;
let warehouse: Cluster;
let database: MigratedDatabase;

/** The statements of docs/feeds.md: for the mirror, for the warehouse, and the subscription. */
const DOCUMENTED = await codeRecipes('Into a warehouse: logical replication', 'sql');

beforeAll(async () => {
  site = await createSite();
  [mirror, warehouse] = [await site.cluster(), await site.cluster()];
  await Promise.all([mirror.start({ wal_level: 'logical' }), warehouse.start({ wal_level: 'logical' })]);
  await migrateTo(mirror.url, 'mirror');
  database = await opened({ url: mirror.url, drop: () => site.remove() }, {});
});
afterAll(() => database.drop());

const TABLES = [
  ['research_jobs', '_user_id, job_id, status, _changed_at, _change_id, _deleted_at, _raw'],
  ['research_jobs_history', '_user_id, job_id, status, _change_id, _valid_from, _valid_to, _op, _raw'],
  ['list_items', '_user_id, list_id, id, _change_id, _deleted_at, _raw'],
  ['forgotten', '_user_id, collection, key_hash, _change_id'],
] as const;

async function rowsOf(cluster: Cluster): Promise<string> {
  const found = TABLES.map(([table, columns]) =>
    cluster.ask(`select ${columns} from mirror.${table} order by _user_id, _change_id`),
  );
  return JSON.stringify(await Promise.all(found));
}
const follows = (what: string) => eventually(what, async () => (await rowsOf(warehouse)) === (await rowsOf(mirror)));

it('a warehouse follows rows, history, deletions and new fields by logical replication, as the documents set it up', async () => {
  const [onMirror = '', inWarehouse = '', subscription = ''] = DOCUMENTED;
  const account = await MirroredAccount.make(database, '1');
  await account.page('research_jobs', '[{"job_id": 2, "status": "a"}, {"job_id": 1, "status": "a"}]');
  await mirror.ask(onMirror);
  await warehouse.ask(inWarehouse);
  const address = `host=127.0.0.1 port=${mirror.port} dbname=postgres user=warehouse`;
  await warehouse.ask(subscription.replace(/host=.* user=warehouse/, address));
  await follows('the first copy');
  await account.page('research_jobs', '[{"job_id": 2, "status": "b", "a_new_field": 1}]');
  await account.page('list_items', '[{"id": "i1", "another_new_field": true}]', { parent: '5' });
  await follows('changes with fields that the warehouse has no columns for');
  await mirror.ask(`delete from mirror.research_jobs where job_id = 1;
      insert into mirror.forgotten values (1, 'research_jobs', '\\x00', 1, now())`);
  await follows('a deletion');
  const errors = 'select apply_error_count::int as errors from pg_stat_subscription_stats';
  expect(await warehouse.ask(errors)).toEqual([{ errors: 0 }]);
});
