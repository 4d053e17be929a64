/**
 * What accounts cost in which nothing happens: processor time of daemon and Postgres, WAL, transactions, memory. The
 * daemon as it is shipped, a poll each minute, in real minutes; the service's data stand still. Linux only.
 *
 *     node bench/service/idle.ts [--accounts 1] [--jobs 500] [--lists 2] [--items 20] [--minutes 5]
 *       [--core 0: the only one that the daemon may use] [--node '--heap-growing-percent=30': besides the launcher's] [--postgres URL]
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { startProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { residentOf } from '../support/memory/peak-resident.ts';
import { processSeconds, serverSeconds } from '../support/processor-time.ts';
import { print, printMachine, printTable } from '../support/report.ts';
import { AS_LAUNCHED, programOptions } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({
  accounts: 1,
  jobs: 500,
  lists: 2,
  items: 20,
  minutes: 5,
  core: -1,
  node: '',
  postgres: '',
});
const MINUTE = 60_000;

await onStage(flags.postgres, async (stage) => {
  const users = Array.from({ length: flags.accounts }, (_, index) => 1001 + index);
  const keys = users.map((user) => `key-${user}`).join();
  const sandbox = await stage.sandbox({
    ...STILL,
    keys: users.map((user) => `key-${user}=${user}`).join(),
    jobs: flags.jobs,
    lists: flags.lists,
    itemsPerList: flags.items,
    bulkJobs: 10,
    watchlist: 10,
  });
  await sandbox.control.clock({ freeze: true });
  const url = await stage.database();
  const env = { DATABASE_URL: url, MIRROR_HTTP_PORT: '0', MIRROR_API_KEY: keys, LOG_FORMAT: 'json' };
  const daemon = startProgram(['start'], {
    ...programOptions({ sandbox, folder: stage.folder, env }),
    nodeArguments: [...AS_LAUNCHED, ...flags.node.split(' ').filter((each) => each !== '')],
  });
  const pid = daemon.child.pid ?? 0;
  if (flags.core >= 0) execFileSync('taskset', ['-a', '-c', '-p', String(flags.core), String(pid)]);
  try {
    await daemon.until('status page http');
    await withClient(url, async (client) => {
      const begun = performance.now();
      while (!(await isMirrored(client, users.length * 6))) await pause(1000);
      const loaded = (performance.now() - begun) / 1000;
      const { requests: firstLoad } = await sandbox.control.counters();
      const atWork = residentOf(pid)?.most ?? Number.NaN;
      // What the first readings leave to be done: second readings, columns that are filled.
      await pause(1.5 * MINUTE);
      const before = await stand(client, pid);
      const resident: number[] = [];
      for (let second = 0; second < flags.minutes * 60; second += 5) {
        await pause(5000);
        resident.push(residentOf(pid)?.now ?? Number.NaN);
      }
      const after = await stand(client, pid);
      const per = (figure: keyof Stand): number => after[figure] - before[figure];
      const seconds = per('at') / 1000;
      const percent = (figure: 'daemon' | 'postgres'): string =>
        `${((100 * per(figure)) / seconds / users.length).toFixed(3)} %`;
      const minutely = (figure: 'transactions' | 'walks' | 'requests'): string =>
        (per(figure) / (seconds / 60) / users.length).toFixed(1);
      printMachine();
      print(
        `${users.length} accounts with ${flags.jobs} jobs, ${flags.lists} lists of ${flags.items}; for each account:`,
      );
      printTable(
        ['', 'value'],
        [
          ['daemon, of a core', percent('daemon')],
          ['Postgres, of a core', percent('postgres')],
          ['WAL an hour', `${(((per('wal') / seconds) * 3600) / users.length / 1e6).toFixed(2)} MB`],
          ['transactions a minute', minutely('transactions')],
          ['rows of sync_log a minute', minutely('walks')],
          ['requests a minute', minutely('requests')],
          ['pings an hour', (((per('pings') / seconds) * 3600) / users.length).toFixed(0)],
          ['all accounts: first load', `${loaded.toFixed(0)} s`],
          ['all accounts: requests of the first load', String(firstLoad)],
          ['processor seconds of the first load', `${before.daemon.toFixed(0)} + ${before.postgres.toFixed(0)}`],
          ['runs overdue by more than a minute', String(after.overdue)],
          ['resident, least', megabytes(Math.min(...resident))],
          ['resident, most', megabytes(Math.max(...resident))],
          ['resident, at the first load', megabytes(atWork)],
        ],
      );
    });
  } finally {
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  }

  interface Stand {
    /** Milliseconds. */
    readonly at: number;
    /** Processor seconds. */
    readonly daemon: number;
    readonly postgres: number;
    /** Bytes. */
    readonly wal: number;
    readonly transactions: number;
    readonly walks: number;
    readonly overdue: number;
    readonly requests: number;
    readonly pings: number;
  }

  async function stand(client: pg.Client, daemonPid: number): Promise<Stand> {
    const { rows } = await client.query<Record<'wal' | 'transactions' | 'walks' | 'overdue', string>>(
      `select pg_current_wal_insert_lsn() - '0/0' as wal,
         (select xact_commit from pg_stat_database where datname = current_database()) as transactions,
         (select count(*) from mirror.sync_log) as walks,
         (select count(*) from mirror._collections where next_poll_at < now() - interval '1 minute') as overdue`,
    );
    const [row] = rows;
    const { requests, byRouteAndStatus } = await sandbox.control.counters();
    return {
      at: performance.now(),
      daemon: processSeconds(daemonPid),
      postgres: await serverSeconds(client),
      wal: Number(row?.wal),
      transactions: Number(row?.transactions),
      walks: Number(row?.walks),
      overdue: Number(row?.overdue),
      requests,
      pings: byRouteAndStatus['GET /v1/ping 200'] ?? 0,
    };
  }
});

async function isMirrored(client: pg.Client, collections: number): Promise<boolean> {
  const { rows } = await client.query<{ ok: boolean }>(
    `select count(*) = ${collections} and bool_and(complete_as_of is not null or collection in ('account', 'webhook')) as ok
     from mirror.freshness where polled_at is not null`,
  );
  return rows[0]?.ok === true;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
