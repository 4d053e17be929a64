/**
 * What a collection costs from HTTP to rows, and which process pays: a first load; an unchanged full pass of a fresh
 * process; a daemon's second unchanged full pass; then `verify`. Sandbox (limits lifted), program and Postgres are
 * processes of their own. Figures are medians of `--runs`, each in a database of its own.
 *
 *     node bench/mirror/passes.ts [--jobs 100000] [--runs 3] [--order falling] [--profile folder] [--postgres URL]
 *
 * Wall time is the process's, its start included; of the daemon's pass the walk's, as `sync_log` has it. Processor
 * time is user and system. Linux, and a Postgres on this machine: its processor time is read from /proc.
 */
import type pg from 'pg';
import { STILL } from '@research-mirror/sandbox/testing/sandbox';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { runProgram, startProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { residentOf } from '../support/memory/peak-resident.ts';
import { processSeconds, serverSeconds } from '../support/processor-time.ts';
import { Claims, median, print, printMachine, printTable } from '../support/report.ts';
import { AS_LAUNCHED, programOptions, runSync, type Setting } from '../support/run-sync.ts';
import { onStage, type Stage, withClient } from '../support/stage.ts';

type Order = 'falling' | 'rising' | 'created' | 'last-updated' | 'score' | 'unordered';

const flags = readFlags({ jobs: 100_000, runs: 3, order: 'falling', profile: '', postgres: '' });
const claims = new Claims();
const PHASES = ['first load', 'unchanged, fresh process', 'unchanged, same daemon'] as const;

interface Pass {
  readonly wall: number;
  readonly client: number;
  readonly server: number;
  readonly peakBytes: number;
  readonly walBytes: number;
  readonly dead: number;
  readonly requests: number;
}

await onStage(flags.postgres, async (stage) => {
  const runs: (readonly Pass[])[] = [];
  for (let run = 0; run < flags.runs; run += 1) runs.push(await passes(stage));
  printMachine();
  print(`${flags.jobs} research jobs, order ${flags.order}; limits lifted; medians of ${flags.runs}`);
  const titles = ['pass', 'wall s', 'client CPU s', 'server CPU s', 'peak MB', 'WAL MB', 'dead', 'requests'];
  printTable(
    titles,
    PHASES.map((phase, index) => {
      const mid = (of: (pass: Pass) => number): number => median(runs.flatMap((run) => run[index] ?? []).map(of));
      return [
        phase,
        mid(({ wall }) => wall).toFixed(2),
        mid(({ client }) => client).toFixed(2),
        mid(({ server }) => server).toFixed(2),
        (mid(({ peakBytes }) => peakBytes) / 1e6).toFixed(0),
        (mid(({ walBytes }) => walBytes) / 1e6).toFixed(2),
        String(mid(({ dead }) => dead)),
        String(mid(({ requests }) => requests)),
      ];
    }),
  );
  claims.tell('the mirror is equal after each run, and an unchanged pass writes no row');
});

async function passes(stage: Stage): Promise<Pass[]> {
  const sandbox = await stage.sandbox({
    ...STILL,
    jobs: flags.jobs,
    lists: 0,
    bulkJobs: 0,
    watchlist: 0,
    limits: 'off',
    order: flags.order as Order,
  });
  // Jobs under way stand still, so that there is one truth.
  await sandbox.control.clock({ freeze: true });
  const url = await stage.database();
  const env = { DATABASE_URL: url, MIRROR_COLLECTIONS: 'research_jobs' };
  const setting: Setting = { sandbox, folder: stage.folder, env };
  try {
    return await withClient(url, async (client) => {
      const requests = async (): Promise<number> => (await sandbox.control.log()).length;
      const fresh = async (name: string): Promise<Pass> => {
        const before = await counters(client, await requests());
        const run = await runSync(setting, profiled(name));
        const after = await counters(client, await requests());
        claims.check(run.items === flags.jobs, `${run.items} items were read instead of ${flags.jobs}`);
        return {
          wall: run.seconds,
          client: run.cpuSeconds,
          peakBytes: run.peakBytes,
          ...minus(after, before),
        };
      };
      const first = await fresh('first');
      const versions = await rowVersions(client);
      await sweep(client);
      const again = await fresh('again');
      const daemon = await secondPass(setting, client, requests);
      claims.check((await rowVersions(client)) === versions, 'an unchanged pass wrote rows');
      const { code, stdout } = await runProgram(['verify', '--json'], programOptions(setting));
      claims.check(code === 0, `verify ended with ${String(code)}: ${stdout.slice(0, 500)}`);
      return [first, again, daemon];
    });
  } finally {
    await sandbox.stop();
  }
}

/** A daemon's second full pass, which `sync --full` asks it for. */
async function secondPass(setting: Setting, client: pg.Client, requests: () => Promise<number>): Promise<Pass> {
  const { cwd, env } = programOptions(setting);
  const never = { MIRROR_POLL_CRON: 'never', MIRROR_FULL_CRON: 'never', MIRROR_HTTP_PORT: '0' };
  const daemon = startProgram(['start'], {
    cwd,
    env: { ...env, ...never },
    nodeArguments: [...AS_LAUNCHED, ...profiled('daemon')],
  });
  const pid = daemon.child.pid ?? 0;
  const sync = async (): Promise<void> => {
    const { code, stderr } = await runProgram(['sync', '--full', '--json'], { cwd, env: { ...env } });
    if (code !== 0) throw new Error(`sync beside the daemon ended with ${String(code)}:\n${stderr}`);
  };
  await eventually('the daemon owns the account', async () => {
    const { rows } = await client.query('select from mirror_sync.account where owner is not null');
    return rows.length > 0 || undefined;
  });
  await sync();
  await sweep(client, false);
  const before = await counters(client, await requests());
  const used = processSeconds(pid);
  await sync();
  const cpu = processSeconds(pid) - used;
  const after = await counters(client, await requests());
  const { rows } = await client.query<{ wall: number }>(
    `select extract(epoch from ended_at - started_at)::float8 as wall from mirror.sync_log
     where kind = 'full' order by walk_id desc limit 1`,
  );
  const peakBytes = residentOf(pid)?.most ?? 0;
  daemon.child.kill('SIGTERM');
  await daemon.ended;
  return {
    wall: rows[0]?.wall ?? Number.NaN,
    client: cpu,
    peakBytes,
    ...minus(after, before),
  };
}

interface Counters {
  readonly server: number;
  readonly wal: number;
  readonly requests: number;
  readonly dead: number;
}

async function counters(client: pg.Client, requests: number): Promise<Counters> {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query<{ wal: string; dead: string | null }>(
    `select pg_current_wal_insert_lsn() - '0/0' as wal,
       (select sum(n_tup_upd + n_tup_del) from pg_stat_all_tables where schemaname = 'mirror') as dead`,
  );
  const [row] = rows;
  return {
    server: await serverSeconds(client),
    wal: Number(row?.wal),
    dead: Number(row?.dead ?? 0),
    requests,
  };
}

function minus(after: Counters, before: Counters): Omit<Pass, 'wall' | 'client' | 'peakBytes'> {
  return {
    server: after.server - before.server,
    walBytes: after.wal - before.wal,
    dead: after.dead - before.dead,
    requests: after.requests - before.requests,
  };
}

/** Hint bits are set, as autovacuum would do: with data checksums the first reader pays for them in WAL. */
async function sweep(client: pg.Client, vacuum = true): Promise<void> {
  if (vacuum) await client.query('vacuum analyze');
  await client.query('checkpoint');
}

async function rowVersions(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ versions: string }>(
    `select md5(string_agg(ctid::text || xmin, '' order by ctid)) as versions from mirror.research_jobs`,
  );
  return rows[0]?.versions;
}

function profiled(name: string): string[] {
  return flags.profile === ''
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`, `--cpu-prof-name=${name}.cpuprofile`];
}
