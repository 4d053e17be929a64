/**
 * `research-mirror sync --full` against a sandbox with lifted limits, in each order of lists: a first load, compared
 * with the sandbox's truth in every field, then the same again with nothing changed. Sandbox, program and Postgres
 * are processes of their own; rows a second are those of the whole program, its start included.
 *
 *     node bench/mirror/full-walk.ts [--jobs 100000] [--lists 500] [--items 100] [--orders falling,rising,…] [--postgres URL]
 */
import type pg from 'pg';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { compareMirror } from '../support/compare.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { runSync } from '../support/run-sync.ts';
import { onStage, type Stage, withClient } from '../support/stage.ts';

const ORDERS = ['falling', 'rising', 'created', 'last-updated', 'score', 'unordered'] as const;
type Order = (typeof ORDERS)[number];
const MIRRORED = `'account', 'research_jobs', 'bulk_research_jobs', 'lists', 'list_items', 'watchlist'`;

const flags = readFlags({
  jobs: 100_000,
  lists: 500,
  items: 100,
  bulk: 1000,
  watchlist: 1000,
  orders: ORDERS.join(','),
  postgres: '',
});
const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const rows: string[][] = [];
  for (const order of flags.orders.split(',') as Order[]) rows.push(await walkTwice(stage, order));
  printMachine();
  print(
    `${flags.jobs} research jobs, ${flags.lists} lists with ${flags.items} items, ${flags.bulk} bulk jobs, ` +
      `${flags.watchlist} watchlist entries; limits lifted`,
  );
  const titles = ['order', 'rows', 'values compared', 'differ', 'first load', 'rows/s', 'peak MB'];
  printTable([...titles, 'again', 'rows/s', 'peak MB', 'written', 'WAL/page'], rows);
  claims.tell('the mirror equals the truth in every field, and nothing unchanged is written');
});

/** One line of the table. */
async function walkTwice(stage: Stage, order: Order): Promise<string[]> {
  const sandbox = await stage.sandbox({
    ...STILL,
    jobs: flags.jobs,
    lists: flags.lists,
    itemsPerList: flags.items,
    bulkJobs: flags.bulk,
    watchlist: flags.watchlist,
    limits: 'off',
    order,
  });
  // Jobs under way stand still, so that there is one truth.
  await sandbox.control.clock({ freeze: true });
  const url = await stage.database();
  const setting = { sandbox, folder: stage.folder, env: { DATABASE_URL: url } };
  const first = await runSync(setting);
  return withClient(url, async (client) => {
    const compared = await compareMirror(client, sandbox);
    for (const problem of compared.problems) claims.check(false, `${order}: ${problem}`);

    // Hint bits are set, as autovacuum would do: with data checksums the first reader pays for them in WAL.
    await client.query('vacuum');
    await client.query('checkpoint');
    const before = await writesOf(client);
    const again = await runSync(setting);
    const after = await writesOf(client);
    const written = after.tuples - before.tuples;
    claims.check(written === 0, `${order}: ${written} rows written though nothing had changed`);
    const same = await compareMirror(client, sandbox);
    for (const problem of same.problems) claims.check(false, `${order}, again: ${problem}`);
    claims.check(again.items === first.items, `${order}: ${first.items} items, then ${again.items}`);
    await sandbox.stop();
    return [
      order,
      String(compared.rows),
      String(compared.values),
      String(compared.problems.length),
      `${first.seconds.toFixed(1)} s`,
      String(Math.round(first.items / first.seconds)),
      megabytes(first.peakBytes),
      `${again.seconds.toFixed(1)} s`,
      String(Math.round(again.items / again.seconds)),
      megabytes(again.peakBytes),
      String(written),
      `${Math.round((after.wal - before.wal) / again.pages)} B`,
    ];
  });
}

/** Rows of mirrored tables ever inserted, updated or deleted, and the position of the write-ahead log. */
async function writesOf(client: pg.Client): Promise<{ tuples: number; wal: number }> {
  // A backend tells its statistics when it ends at the latest.
  for (;;) {
    const { rows } = await client.query<{ count: string }>(
      `select count(*) from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    if (rows[0]?.count === '0') break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { rows } = await client.query<{ tuples: string; wal: string }>(
    `select pg_current_wal_insert_lsn() - '0/0' as wal,
       (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_all_tables
        where schemaname = 'mirror' and relname in (${MIRRORED})) as tuples`,
  );
  return { tuples: Number(rows[0]?.tuples), wal: Number(rows[0]?.wal) };
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
