/**
 * What a full reading of one collection costs beyond its pages (docs/design/deletions.md, "Counters are a hint"): its
 * rows are counted, and the keys of its live rows are compared with those that it saw. Jobs are filled in by SQL, a
 * tenth of them deleted; what the walk saw is kept as the program keeps it, on disk beyond 50,000 keys. The first turn
 * reads what the cache may lack; medians of five.
 *
 *     node bench/mirror/compare-keys.ts [--rows 1000000] [--postgres URL]
 */
import { keyStore } from '@research-mirror/runtime/kept-keys';
import { openDatabase } from '../../src/postgres/pool.ts';
import { liveKeysMissing } from '../../src/mirror/live-rows.ts';
import { driftOf } from '../../src/mirror/counters.ts';
import { migrateTo } from '../../test/support/databases/migrated-database.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, median, printMachine, printTable } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ rows: 1_000_000, postgres: '' });
const claims = new Claims();
const TURNS = 5;
const ACCOUNT = { userId: '1', collection: 'research_jobs', parent: '' } as const;

await onStage(flags.postgres, async (stage) => {
  const url = await stage.database();
  await migrateTo(url, 'mirror');
  await withClient(url, async (client) => {
    await client.query(
      `insert into mirror_sync.account (_user_id, change_id, created_at) values (1, ${flags.rows}, now());
       insert into mirror_sync.scope (_user_id, collection) values (1, 'research_jobs');
       insert into mirror.research_jobs (_user_id, job_id, status, _first_seen_at, _changed_at, _change_id, _deleted_at,
         _hash, _raw)
       select 1, n, 'done', now(), now(), n, case when n % 10 = 0 then now() end, decode(md5(n::text), 'hex'),
         jsonb_build_object('job_id', n, 'status', 'done', 'note', repeat(md5(n::text), 10))
       from generate_series(1, ${flags.rows}) as n`,
    );
    await client.query('vacuum analyze');
  });
  const store = keyStore({ folders: [stage.folder], onLost: (error) => claims.check(false, String(error)) });
  const saw = store.open();
  for (let key = 1; key <= flags.rows; key += 1) if (key % 1000 !== 1) saw.keep(String(key), '');
  const database = await openDatabase({ url, schema: 'mirror', program: 'bench' });
  const rows: string[][] = [];
  const measure = async (title: string, run: () => Promise<string>): Promise<void> => {
    const times: number[] = [];
    let found = '';
    for (let turn = 0; turn < TURNS; turn += 1) {
      const begin = performance.now();
      found = await run();
      times.push((performance.now() - begin) / 1000);
    }
    rows.push([title, found, `${(times[0] ?? 0).toFixed(2)} s`, `${median(times).toFixed(2)} s`]);
  };
  try {
    await measure('rows counted', async () => {
      const drift = await driftOf(database.db, ACCOUNT.userId, ACCOUNT.collection);
      return `${drift.scopes.get('') ?? 0} live`;
    });
    await measure('keys compared', async () => {
      const missing = await liveKeysMissing(database.db, ACCOUNT, (key) => saw.has(key));
      return `${missing.length} missing`;
    });
  } finally {
    await database.close();
    saw.close();
  }
  printMachine();
  printTable([`of ${flags.rows} rows`, 'found', 'first', 'median'], rows);
  claims.tell('nothing is lost of what a walk saw');
});
