/**
 * A distributed mirror beside a plain one on the same machine: pages of several accounts at once, a question over all
 * accounts, how long writes wait while a mirror is distributed, and how many of the writer's statements went to more than
 * one shard. Both lie on the cluster's servers: the plain one on the coordinator alone.
 *
 *     npm exec -- node bench/databases/citus.ts --citus URL [--rows 1000000] [--more 0] [--accounts 8] [--shards 32]
 *
 * `--more`: so many rows the plain mirror has before it is distributed, the rest of them copied within the table.
 * The URL is that of any Citus cluster's coordinator, of a superuser of all nodes, who may make databases: set up as
 * docs/citus.md says (steps 1 and 3), for example one for `CITUS_URL=URL npm run test:citus`. 13.2 or newer, for its
 * counters of statements. The writer's pages are counted here; the daemon's other statements are by
 * bench/databases/routing.ts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { runDistribute } from '../../src/operate/distribute.ts';
import { MIGRATIONS, programVersion } from '../../src/config/program.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { migrate, MIGRATION_BOUNDS } from '../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { makeCluster } from '../../test/support/databases/distributed-database.ts';
import { MirroredAccount } from '../../test/support/mirror/mirrored-account.ts';
import { clusterAt } from '../../test/support/postgres/postgres-server.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, median, print, printMachine, printTable } from '../support/report.ts';
import { onStage, withClient } from '../support/stage.ts';
import { OPERATOR } from '../../test/support/mirror/operator.ts';

const PAGE = 500;
/** More than any key of the pages. */
const KEYS = 1_000_000_000;
const QUESTION = 'select status, count(*) from mirror.research_jobs group by status';
const flags = readFlags({ citus: '', rows: 1_000_000, more: 0, accounts: 8, shards: 32 });
const claims = new Claims();

interface Loaded {
  readonly database: Database;
  readonly url: string;
  readonly accounts: readonly MirroredAccount[];
}

function page(first: number): string {
  const items = Array.from({ length: PAGE }, (_, index) => {
    const id = first + index;
    return {
      job_id: id,
      status: id % 10 === 0 ? 'failed' : 'completed',
      company_url: `https://www.company-${id % 20_011}.example/about`,
      score: (id % 1000) / 1000,
      summary: `Company ${id} sells software to other companies. ${'It has grown every year. '.repeat(20)}`,
    };
  });
  return JSON.stringify(items);
}

/**
 * Copies rows under keys of their own until there are that many: for how long they are moved does not depend on how they
 * came. @returns how many there are
 */
async function copiedTo({ kysely }: Database, most: number): Promise<number> {
  const { rows: columns } = await sql<{ name: string }>`
    select quote_ident(attname) as name from pg_attribute
    where attrelid = 'mirror.research_jobs'::regclass and attnum > 0 and not attisdropped and attgenerated = ''
  `.execute(kysely);
  const names = columns.map(({ name }) => name);
  const into = sql.raw(names.join());
  const counted = await sql<{ rows: number }>`select count(*)::int as rows from mirror.research_jobs`.execute(kysely);
  let rows = counted.rows[0]?.rows ?? 0;
  for (let shift = KEYS; rows < most; shift *= 2) {
    const from = sql.raw(names.map((name) => (name === 'job_id' ? `job_id + ${shift}` : name)).join());
    const copied = await sql`
      insert into mirror.research_jobs (${into}) select ${from} from mirror.research_jobs limit ${most - rows}
    `.execute(kysely);
    rows += Number(copied.numAffectedRows);
  }
  return rows;
}

await onStage(flags.citus, async (stage) => {
  printMachine();
  const { workers } = await clusterAt(flags.citus);
  const loads: string[][] = [];
  const mirror = async (): Promise<Omit<Loaded, 'accounts'>> => {
    const url = await stage.database();
    const database = await openDatabase({
      url,
      schema: 'mirror',
      program: 'bench',
      bounds: MIGRATION_BOUNDS,
    });
    await migrate({ db: database.db, folder: MIGRATIONS, version: programVersion(), clock: systemClock });
    return { url, database };
  };
  const fill = async ({ url, database }: Omit<Loaded, 'accounts'>, name: string): Promise<Loaded> => {
    const whole = { ...database, url, drop: () => database.close() };
    const accounts: MirroredAccount[] = [];
    for (let n = 1; n <= flags.accounts; n += 1) accounts.push(await MirroredAccount.make(whole, String(n)));
    const each = Math.ceil(flags.rows / flags.accounts / PAGE) * PAGE;
    // The first page of all makes the columns.
    await accounts[0]?.page('research_jobs', page(0));
    const round = async (): Promise<number> => {
      const began = performance.now();
      await Promise.all(
        accounts.map(async (account) => {
          for (let first = 0; first < each; first += PAGE) await account.page('research_jobs', page(first));
        }),
      );
      return Math.round((each * accounts.length) / ((performance.now() - began) / 1000));
    };
    const [first, again] = [await round(), await round()];
    await sql`vacuum analyze mirror.research_jobs`.execute(database.kysely);
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const began = performance.now();
      await sql`${sql.raw(QUESTION)}`.execute(database.kysely);
      times.push(performance.now() - began);
    }
    loads.push([name, String(first), String(again), median(times).toFixed(0)]);
    return { url, database, accounts };
  };
  const distribute = async ({ url, database }: Omit<Loaded, 'accounts'>): Promise<number> => {
    const name = new URL(url).pathname.slice(1);
    for (const worker of workers) {
      await withClient(worker, (client) => client.query(`create database ${name} template template0`));
    }
    await makeCluster(url, workers);
    const { pauseMs } = await runDistribute(
      {
        db: database.db,
        clock: systemClock,
        signal: new AbortController().signal,
        onStep: () => {},
        by: OPERATOR,
      },
      { dryRun: false, shards: flags.shards },
    );
    return pauseMs ?? Number.NaN;
  };
  const made: Omit<Loaded, 'accounts'>[] = [];
  try {
    const plain = await fill(await mirror(), 'plain, on the coordinator');
    made.push(plain);
    const spread = await mirror();
    made.push(spread);
    const empty = await distribute(spread);
    await withClient(flags.citus, async (client) => {
      await client.query('alter system set citus.enable_stat_counters = on');
      await client.query('select pg_reload_conf()');
    });
    const counted = async (): Promise<{ one: number; many: number }> => {
      const { rows } = await sql<{ one: number; many: number }>`
        select query_execution_single_shard::int as one, query_execution_multi_shard::int as many
        from citus_stat_counters where name = current_database()`.execute(spread.database.kysely);
      return rows[0] ?? { one: 0, many: 0 };
    };
    const before = await counted();
    await fill(spread, `${workers.length} workers, ${flags.shards} shards`);
    printTable(
      ['', `first load of ${flags.accounts} accounts, rows/s`, 'unchanged, rows/s', 'status, count(*), ms'],
      loads,
    );
    const after = await counted();
    const [one, many] = [after.one - before.one, after.many - before.many];
    // The question was asked five times; what the columns of the first page need goes to all shards, too.
    print(`statements to one shard: ${one}; to several: ${many}, 5 of them the question`);
    claims.check(many <= 10, 'the statements of pages go to one shard');

    const distributed = await copiedTo(plain.database, flags.more);
    const over = new AbortController();
    /** Seconds of the longest one, all the time. */
    const longestOf = async (work: (nth: number) => Promise<unknown>): Promise<string> => {
      let longest = 0;
      for (let nth = 0; !over.signal.aborted; nth += 1) {
        const began = performance.now();
        await work(nth);
        longest = Math.max(longest, performance.now() - began);
      }
      return (longest / 1000).toFixed(1);
    };
    const longest = Promise.all([
      longestOf(async (nth) => plain.accounts[0]?.page('research_jobs', page(10_000_000 + nth * PAGE))),
      withClient(plain.url, (client) =>
        longestOf(async () => {
          await client.query('select status from mirror.research_jobs_live limit 1');
          await pause(50);
        }),
      ),
    ]);
    const waited = await distribute(plain);
    over.abort();
    const [longestPage, longestRead] = await longest;
    print(
      `distributing ${distributed} rows beside a writer and a reader: writes wait ${(waited / 1000).toFixed(1)} s, ` +
        `the longest page ${longestPage} s, the longest read ${longestRead} s; of an empty mirror writes wait ` +
        `${(empty / 1000).toFixed(1)} s`,
    );
  } finally {
    for (const { url, database } of made) {
      await database.close();
      const name = new URL(url).pathname.slice(1);
      for (const worker of workers) {
        await withClient(worker, (client) => client.query(`drop database if exists ${name} with (force)`));
      }
    }
  }
});
claims.tell('the statements of pages go to one shard');
