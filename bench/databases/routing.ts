/**
 * To how many shards and nodes the daemon's own statements go on a distributed mirror. Daemons as they are shipped, in
 * real minutes, reach the coordinator through an address that reads along what they send; afterwards Citus says by
 * EXPLAIN, with parameters that they were sent with, into how many tasks on how many nodes it splits each. Beside it what
 * Citus itself counted in the same time, in which statements within functions are, too.
 *
 *     npm exec -- node bench/databases/routing.ts --citus URL [--accounts 8] [--daemons 2] [--minutes 3] [--shards 32]
 *
 * URL: as for bench/databases/citus.ts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { MIGRATIONS, programVersion } from '../../src/config/program.ts';
import { runDistribute } from '../../src/operate/distribute.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { migrate, MIGRATION_BOUNDS, splitStatements } from '../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { makeCluster } from '../../test/support/databases/distributed-database.ts';
import { startProgram } from '../../test/support/processes/program.ts';
import { clusterAt } from '../../test/support/postgres/postgres-server.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { programOptions } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';
import { type SentStatement, tapStatements } from './statement-tap.ts';
import { OPERATOR } from '../../test/support/mirror/operator.ts';

const flags = readFlags({ citus: '', accounts: 8, daemons: 2, minutes: 3, shards: 32 });
const claims = new Claims();
const CLAIM = 'every statement that names one account goes to one node';
const MINUTE = 60_000;

/** What names one account. */
const OF_ONE = /\b_user_id"? = \$\d/;

/** Statements over many accounts that come often, by what they are for. All others are shown by their beginning. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^select 'run' as what/, 'look for work: runs that are due, hints, submissions, columns to fill'],
  [/^select 'hint' as what/, 'look for work between runs: hints, submissions'],
  [/"owner", "state" from \S+account"$/, 'fleet look: who owns which account'],
  [/account" where owner = \$1$/, 'accounts of this process'],
  [/account" where "state" = \$1$/, 'accounts that are retired, or held'],
  [/paused_at is not null as paused/, 'collections that are paused'],
  [/pg_walfile_name/, 'which servers the nodes are'],
  [/ as open, exists/, 'whether submissions are open'],
];

/** Where Citus sends a statement. */
interface Route {
  /** 0: the coordinator alone has what it asks for. */
  readonly tasks: number;
  readonly nodes: number;
}

await onStage(flags.citus, async (stage) => {
  printMachine();
  const { workers } = await clusterAt(flags.citus);
  const url = await stage.database();
  const name = new URL(url).pathname.slice(1);
  try {
    await distributed(url, name, workers);
    const users = Array.from({ length: flags.accounts }, (_, index) => 1001 + index);
    const sandbox = await stage.sandbox({
      keys: users.map((user) => `key-${user}=${user}`).join(),
      jobs: 500,
    });
    const tap = await tapStatements(url);
    const env = {
      DATABASE_URL: tap.url,
      MIRROR_HTTP_PORT: '0',
      MIRROR_API_KEY: users.map((user) => `key-${user}`).join(),
    };
    const daemons = Array.from({ length: flags.daemons }, (_, nth) =>
      startProgram(
        ['start'],
        programOptions({
          sandbox,
          folder: stage.folder,
          env: { ...env, MIRROR_DATA_DIR: `${stage.folder}/data-${nth}` },
        }),
      ),
    );
    try {
      for (const daemon of daemons) await daemon.until('status page http');
      await withClient(url, async (client) => {
        await until(
          client,
          `select count(*) >= ${users.length} as ok from mirror.freshness where collection = 'list_items' and polled_at is not null`,
        );
        const first = [...tap.statements.values()].map((each) => ({ ...each, samples: [...each.samples] }));
        tap.reset();
        const before = await counted(client);
        const began = performance.now();
        await pause(flags.minutes * MINUTE);
        const minutes = (performance.now() - began) / MINUTE;
        const sent = [...tap.statements.values()].map((each) => ({ ...each, samples: [...each.samples] }));
        const after = await counted(client);
        await tell(client, 'First load', first, undefined);
        await tell(client, `Then, in ${minutes.toFixed(1)} minutes`, sent, minutes);
        print(
          `counted by Citus in that time: ${after.one - before.one} to one shard, ${after.many - before.many} to several`,
        );
      });
    } finally {
      for (const { child } of daemons) child.kill('SIGTERM');
      for (const { ended } of daemons) await ended;
      await tap.close();
    }
  } finally {
    for (const worker of workers) {
      await withClient(worker, (client) => client.query(`drop database if exists ${name} with (force)`));
    }
  }
});
claims.tell(CLAIM);

async function distributed(url: string, name: string, workers: readonly string[]): Promise<void> {
  for (const worker of workers) {
    await withClient(worker, (client) => client.query(`create database ${name} template template0`));
  }
  await makeCluster(url, workers);
  await withClient(url, async (client) => {
    await client.query(`alter database ${name} set citus.enable_stat_counters = on`);
  });
  const database = await openDatabase({ url, schema: 'mirror', program: 'bench', bounds: MIGRATION_BOUNDS });
  try {
    await migrate({ db: database.db, folder: MIGRATIONS, version: programVersion(), clock: systemClock });
    await runDistribute(
      {
        db: database.db,
        clock: systemClock,
        signal: new AbortController().signal,
        onStep: () => {},
        by: OPERATOR,
      },
      { dryRun: false, shards: flags.shards },
    );
  } finally {
    await database.close();
  }
}

async function until(client: pg.Client, question: string): Promise<void> {
  while ((await client.query<{ ok: boolean }>(question)).rows[0]?.ok !== true) await pause(1000);
}

async function counted(client: pg.Client): Promise<{ readonly one: number; readonly many: number }> {
  const { rows } = await client.query<{ one: string; many: string }>(
    `select query_execution_single_shard as one, query_execution_multi_shard as many
     from citus_stat_counters where name = current_database()`,
  );
  return { one: Number(rows[0]?.one), many: Number(rows[0]?.many) };
}

async function tell(
  client: pg.Client,
  when: string,
  sent: readonly SentStatement[],
  minutes: number | undefined,
): Promise<void> {
  const sums = { coordinator: 0, one: 0, many: 0, other: 0 };
  const rows: string[][] = [];
  for (const { text, executions, samples } of sent) {
    const route = await routeOf(client, text, samples);
    if (route === undefined) {
      sums.other += executions;
      continue;
    }
    if (typeof route === 'string') {
      rows.push([`${shown(text)}: ${route}`, '', '', String(executions)]);
      claims.check(false, `Citus takes ${shown(text)}`);
      continue;
    }
    if (route.tasks === 0) sums.coordinator += executions;
    else if (route.nodes <= 1 && route.tasks === 1) sums.one += executions;
    else {
      sums.many += executions;
      claims.check(!OF_ONE.test(text), `${CLAIM}: ${shown(text)}`);
      rows.push([
        shown(text),
        String(route.tasks),
        String(route.nodes),
        minutes === undefined ? String(executions) : (executions / minutes).toFixed(1),
      ]);
    }
  }
  const all = sums.one + sums.many;
  print(
    `\n${when}: ${all} statements with tables of accounts, ${sums.one} of them to one node; ${sums.coordinator} of the ` +
      `coordinator's own tables and functions; ${sums.other} that have no plan (begin, commit, set, notify, DDL)`,
  );
  printTable(['to more than one', 'tasks', 'nodes', minutes === undefined ? 'times' : 'a minute'], rows);
}

function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return NAMES.find(([pattern]) => pattern.test(line))?.[1] ?? line.slice(0, 90);
}

/** @returns the most tasks and nodes of all samples; undefined: it has no plan; words: Citus refuses to plan it */
async function routeOf(
  client: pg.Client,
  text: string,
  samples: readonly (readonly (string | Buffer | null)[])[],
): Promise<Route | string | undefined> {
  const parts = splitStatements(text)
    .map(({ statement }) => statement)
    .filter((part) => /^\s*(select|insert|update|delete|with|values)\b/i.test(part));
  if (parts.length === 0) return undefined;
  let most: Route = { tasks: 0, nodes: 0 };
  for (const part of parts) {
    for (const sample of samples.filter((each) => each !== undefined)) {
      try {
        await client.query('begin');
        await client.query('set local citus.explain_all_tasks = on');
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${part}`, [...sample]);
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
        const nodes = new Set([...plan.matchAll(/Node: (host=\S+ port=\d+)/g)].map(([, node]) => node)).size;
        most = { tasks: Math.max(most.tasks, tasks), nodes: Math.max(most.nodes, nodes) };
      } catch (error) {
        return String(error);
      } finally {
        await client.query('rollback');
      }
    }
  }
  return most;
}
