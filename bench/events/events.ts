/**
 * From an event to the row that it names: a daemon with a public URL, the sandbox without artificial latency. Each
 * event names a research job that was changed just before, without a trace that a poll would look for. Measured is
 * from the moment before the service is told to emit it until a reader saw the row by SQL (asked each 10 ms).
 *
 * 1. events spread over time, of jobs among the newest 500, as in life; and of jobs anywhere, each on a page of its own
 * 2. during full walks: of the newest, while `sync --full` reads all jobs again and again beside the daemon
 * 3. storms under the service's real limits and the default share: how many requests they take (by the sandbox's own
 *    log), and when the last row is there; of the newest jobs, and of jobs spread over all
 *
 *     node bench/events/events.ts [--events 1000] [--every 100] [--jobs 20000] [--limit 6000] [--storm 1000]
 *                          [--storm-seconds 10] [--postgres URL]
 *
 * `--every`: milliseconds between two events; `--limit`: requests per 60 s in 1 and 2, where the rate limit is not
 * what is measured; `--storm 0`: without 3.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { RequestRecord } from '@research-mirror/sandbox/request-log';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { startProgram } from '../../test/support/processes/program.ts';
import { seeded } from '../../test/support/random.ts';
import type { SandboxControl } from '@research-mirror/sandbox/testing/control-client';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { programOptions, type Setting } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';
import { emitAndWatch } from '../support/emit-and-watch.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

/** Specification 8.2, and the default of MIRROR_BUDGET_SHARE. */
const REAL_LIMIT = 60;
const SHARE = 0.8;
const WINDOW_MS = 60_000;
const NEWEST = 500;
/** Everything that an event may ask for is over: its row unchanged, it is read again after 5 s and after 30 s. */
const AFTERMATH_MS = 40_000;

const flags = readFlags({
  events: 1000,
  every: 100,
  jobs: 20_000,
  limit: 6000,
  storm: 1000,
  'storm-seconds': 10,
  postgres: '',
});
const claims = new Claims();
const random = seeded(1);

/** What is measured with: the service's switches and a reader of the mirror. */
interface Bench {
  readonly control: SandboxControl;
  readonly client: pg.Client;
  readonly jobs: readonly string[];
  readonly setting: Setting;
}

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    jobs: flags.jobs,
    lists: 20,
    limitOther: flags.limit,
    newJobsPerMinute: 0,
    scoreChangesPerMinute: 0,
    watchChangesPerMinute: 0,
    deliveryParallel: 64,
  });
  const { control } = sandbox;
  const url = await stage.database();
  const port = String(await nonEphemeralPort());
  const env = {
    DATABASE_URL: url,
    MIRROR_HTTP_PORT: '0',
    MIRROR_BUDGET_SHARE: String(SHARE),
    MIRROR_PUBLIC_URL: `http://127.0.0.1:${port}`,
    MIRROR_WEBHOOK_PORT: port,
    LOG_LEVEL: 'warn',
  };
  const setting = { sandbox, folder: stage.folder, env };
  const daemon = startProgram(['start'], programOptions(setting));
  try {
    await withClient(url, async (client) => {
      await eventually('the first load and a registration', () => isReady(client), 300_000);
      const { rows } = await client.query<{ job_id: string }>(
        `select job_id from mirror.research_jobs where status = 'completed' order by job_id desc`,
      );
      const bench = { control, client, jobs: rows.map(({ job_id }) => job_id), setting };
      printMachine();
      print(
        `${flags.jobs} research jobs; ${flags.events} events, one each ${flags.every} ms, ${flags.limit} requests per 60 s`,
      );
      printTable(
        ['event to visible row', 'events', 'median ms', 'p90 ms', 'p99 ms', 'max ms', 'requests'],
        [
          await measure(bench, 'newest jobs', newestOf(bench)),
          await measure(bench, 'jobs spread over all', bench.jobs),
          await duringWalks(bench),
        ],
      );
      if (flags.storm > 0) await storms(bench);
      print(`deliveries answered: ${await answersOf(control)}`);
      const { failed } = (await control.counters()).deliveries;
      claims.check(failed === 0, `${failed} deliveries were given up`);
    });
    claims.tell('every event brought its row, and no request was answered with 429');
  } finally {
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  }
});

/** `3000 × 200, 2 × 503` */
async function answersOf(control: SandboxControl): Promise<string> {
  const byStatus = Map.groupBy(await control.deliveries(), ({ status }) => String(status));
  return [...byStatus].map(([status, attempts]) => `${attempts.length} × ${status}`).join(', ');
}

async function isReady(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    `select 1 from mirror_sync.registration where state = 'registered'
       and (select count(*) from mirror.research_jobs) = ${flags.jobs}
       and not exists (select 1 from mirror.freshness where polled_at is null)`,
  );
  return rows.length > 0;
}

/** @returns a row of the table */
async function measure(bench: Bench, name: string, jobs: readonly string[]): Promise<string[]> {
  const before = await lastRequest(bench);
  const ids = Array.from({ length: flags.events }, () => jobs[Math.floor(random() * jobs.length)] ?? '');
  const delays = await emitAndWatch(bench, ids, flags.every);
  const requests = jobRequests(await bench.control.log(before));
  const figures = [0.5, 0.9, 0.99].map((share) => quantile(delays, share));
  const ms = [...figures, delays.at(-1) ?? Number.NaN].map((value) => value.toFixed(0));
  return [name, String(delays.length), ...ms, String(requests.length)];
}

/** What jobs end in life: those that were made lately. */
function newestOf({ jobs }: Bench): readonly string[] {
  return jobs.slice(0, NEWEST);
}

/** The same, while full walks of the jobs follow each other. */
async function duringWalks(bench: Bench): Promise<string[]> {
  const over = new AbortController();
  const walks = (async (): Promise<number> => {
    let count = 0;
    for (; !over.signal.aborted; count += 1) {
      const program = startProgram(['sync', '--full', 'research_jobs'], programOptions(bench.setting));
      const { code, stderr } = await program.ended;
      if (code !== 0) throw new Error(`sync --full ended with ${code}: ${stderr}`);
    }
    return count;
  })();
  // It is waited for below.
  walks.catch(() => {});
  const row = await measure(bench, 'newest jobs, during full walks', newestOf(bench));
  over.abort();
  print(`${await walks} full walks meanwhile`);
  return row;
}

async function storms(bench: Bench): Promise<void> {
  await underRealLimits(bench);
  print(
    `\nstorms of ${flags.storm} events in ${flags['storm-seconds']} s; ${REAL_LIMIT} requests per 60 s, share ${SHARE}`,
  );
  const newest = await storm(bench, 'the newest jobs', bench.jobs.slice(0, flags.storm));
  const spread = await storm(bench, 'jobs spread over all', everyNth(bench.jobs, flags.storm));
  printTable(
    ['storm', 'median s', 'p99 s', 'last row s', 'requests for jobs', 'all requests', '429s'],
    [newest, spread],
  );
}

/** From here on the service grants what the specification says; what was sent before is no part of its window. */
async function underRealLimits({ control }: Bench): Promise<void> {
  await control.change({ limitOther: REAL_LIMIT });
  await control.resetWindows();
  await pause(WINDOW_MS + 5_000);
}

/** @returns a row of the table */
async function storm(bench: Bench, name: string, ids: readonly string[]): Promise<string[]> {
  const before = await lastRequest(bench);
  const { rateLimited } = await bench.control.counters();
  const delays = await emitAndWatch(bench, ids, (flags['storm-seconds'] * 1000) / ids.length);
  await pause(AFTERMATH_MS);
  const log = await bench.control.log(before);
  const refused = (await bench.control.counters()).rateLimited - rateLimited;
  claims.check(refused === 0, `${name}: ${refused} requests were answered with 429`);
  const figures = [quantile(delays, 0.5), quantile(delays, 0.99), delays.at(-1) ?? Number.NaN];
  return [
    name,
    ...figures.map((ms) => (ms / 1000).toFixed(1)),
    String(jobRequests(log).length),
    String(log.length),
    String(refused),
  ];
}

async function lastRequest({ control }: Bench): Promise<number> {
  return (await control.log()).at(-1)?.number ?? 0;
}

function jobRequests(log: readonly RequestRecord[]): readonly RequestRecord[] {
  return log.filter(({ route }) => route === 'GET /v1/research');
}

/** So many of them, at equal distances. */
function everyNth(all: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, index) => all[Math.floor((index * all.length) / count)] ?? '');
}
