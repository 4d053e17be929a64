/**
 * Operations of all seven kinds, queued by SQL in one transaction, under the service's real limits: are they sent
 * without a 429, and in the time that their budgets permit?
 *
 * Permitted: a group that may have N requests in a window sends N at once, and each slot again after
 * P = 60 s + mean response time + guard (docs/design/rate-limit.md, "Slots"): n requests take ⌊(n − 1) / N⌋ · P until the last one is sent. The
 * groups do not wait for each other: all of them take as long as the slowest. The mix is in proportion to N, so that
 * no group has much less to do than the others. N = max(1, ⌊share × limit⌋).
 *
 *     node bench/events/submit.ts [--submissions 300] [--share 1] [--latency-min 20] [--latency-max 200] [--within 3]
 *                          [--postgres URL]
 */
import type pg from 'pg';
import { defaultLimit, type RateGroup } from '../../src/budget/rate-groups.ts';
import { GUARD_MS } from '../../src/budget/slots/timing.ts';
import type { OperationName } from '../../src/model/submission.ts';
import type { RequestRecord } from '@research-mirror/sandbox/request-log';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { startProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, print, printMachine, printTable, quantile } from '../support/report.ts';
import { programOptions } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';

const WINDOW_MS = 60_000;
const HOUR = 3_600_000;

/** Operations by the limit that they share, and their endpoints (specification 8.2). */
const GROUPS: readonly {
  readonly group: RateGroup;
  readonly operations: readonly [OperationName, ...OperationName[]];
  readonly routes: readonly string[];
}[] = [
  { group: 'clay_enrich', operations: ['clay_enrich'], routes: ['POST /v1/clay/enrich'] },
  {
    group: 'research_enrich',
    operations: ['research', 'enrich'],
    routes: ['POST /v1/research', 'POST /v1/enrich'],
  },
  {
    group: 'bulk_lists',
    operations: ['bulk_research', 'list', 'list_analyze'],
    routes: ['POST /v1/research/bulk', 'POST /v1/lists', 'POST /v1/lists/{id}/analyze'],
  },
  { group: 'sequence', operations: ['sequence'], routes: ['POST /v1/research/{id}/sequence'] },
];

const flags = readFlags({
  submissions: 300,
  share: 1,
  'latency-min': 20,
  'latency-max': 200,
  within: 3,
  postgres: '',
});
const claims = new Claims();
/** The sandbox's own latency; what the network and both programs add is not granted. */
const PERIOD_MS = WINDOW_MS + (flags['latency-min'] + flags['latency-max']) / 2 + GUARD_MS;

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    jobs: 1_000,
    lists: 20,
    latencyMin: flags['latency-min'],
    latencyMax: flags['latency-max'],
  });
  const { control } = sandbox;
  const url = await stage.database();
  const env = { DATABASE_URL: url, MIRROR_HTTP_PORT: '0', MIRROR_BUDGET_SHARE: String(flags.share) };
  const daemon = startProgram(['start'], programOptions({ sandbox, folder: stage.folder, env }));
  try {
    await daemon.until('status page http');
    await withClient(url, async (client) => {
      await eventually('the first load', () => isLoaded(client), 300_000);
      const counts = mix();
      const begin = Date.now();
      await queue(client, counts);
      const closed = `select count(*)::int as count from mirror.submissions where state in ('queued', 'sending')`;
      await eventually('every submission', async () => (await numberOf(client, closed)) === 0, HOUR);
      const log = await control.log();
      const { rateLimited } = await control.counters();

      printMachine();
      print(
        `${flags.submissions} submissions, share ${flags.share}, latency ${flags['latency-min']}–${flags['latency-max']} ms; ` +
          `P = ${(PERIOD_MS / 1000).toFixed(2)} s`,
      );
      tell(counts, log, begin);
      await tellStates(client);
      await tellObjects(client);
      print(`${rateLimited} requests were answered with 429`);
      claims.check(rateLimited === 0, `${rateLimited} requests were answered with 429`);
      const accepted = await numberOf(
        client,
        `select count(*)::int as count from mirror.submissions where state = 'accepted'`,
      );
      claims.check(accepted === flags.submissions, `${accepted} were accepted`);
      const effects = (await control.operations()).length;
      claims.check(effects === flags.submissions, `${effects} took effect`);
    });
    claims.tell(`all accepted, no 429, and in the permitted time ± ${flags.within} %`);
  } finally {
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  }
});

function sizeOf(group: RateGroup): number {
  return Math.max(1, Math.floor(flags.share * defaultLimit(group) + 1e-9));
}

/** How many of each group, in proportion to what it may send; the rest of the division goes to the last. */
function mix(): ReadonlyMap<RateGroup, number> {
  const all = GROUPS.reduce((sum, { group }) => sum + sizeOf(group), 0);
  const counts = new Map(
    GROUPS.map(({ group }) => [group, Math.round((flags.submissions * sizeOf(group)) / all)] as const),
  );
  const given = [...counts.values()].reduce((sum, count) => sum + count, 0);
  counts.set('sequence', (counts.get('sequence') ?? 0) + flags.submissions - given);
  return counts;
}

async function isLoaded(client: pg.Client): Promise<boolean> {
  return (
    (await numberOf(
      client,
      'select count(*)::int as count from mirror.freshness where polled_at is null',
    )) === 0 && (await numberOf(client, 'select count(*)::int as count from mirror.research_jobs')) > 0
  );
}

/** All in one transaction; operations of a group by turns. */
async function queue(client: pg.Client, counts: ReadonlyMap<RateGroup, number>): Promise<void> {
  const lists = await keysOf(client, 'lists', 'list_id');
  const jobs = await keysOf(client, 'research_jobs', 'job_id');
  await client.query('begin');
  for (const { group, operations } of GROUPS) {
    for (let count = 0; count < (counts.get(group) ?? 0); count += 1) {
      const operation = operations[count % operations.length] ?? operations[0];
      const keys = operation === 'list_analyze' ? lists : operation === 'sequence' ? jobs : [];
      await client.query('select mirror.submit($1, $2, $3)', [
        operation,
        JSON.stringify({ company_url: `https://company-${group}-${count}.example` }),
        keys.length === 0 ? null : keys[count % keys.length],
      ]);
    }
  }
  await client.query('commit');
}

async function keysOf(client: pg.Client, table: string, column: string): Promise<string[]> {
  const { rows } = await client.query<{ key: string }>(
    `select ${column} as key from mirror.${table} limit 20`,
  );
  return rows.map(({ key }) => key);
}

/** @param begin epoch milliseconds: nothing was queued before */
function tell(counts: ReadonlyMap<RateGroup, number>, log: readonly RequestRecord[], begin: number): void {
  let slowest = 0;
  let took = 0;
  const rows = GROUPS.map(({ group, routes }) => {
    const count = counts.get(group) ?? 0;
    const permitted = Math.floor((count - 1) / sizeOf(group)) * PERIOD_MS;
    const sent = log.filter(({ route }) => routes.includes(route)).map(({ at }) => at - begin);
    const last = Math.max(...sent);
    claims.check(sent.length === count, `${group}: ${count} queued, ${sent.length} requests`);
    slowest = Math.max(slowest, permitted);
    took = Math.max(took, last);
    return [
      group,
      String(count),
      String(sizeOf(group)),
      seconds(permitted),
      seconds(last),
      ratio(last, permitted),
    ];
  });
  rows.push(['all', String(flags.submissions), '', seconds(slowest), seconds(took), ratio(took, slowest)]);
  printTable(['group', 'submissions', 'N', 'permitted s', 'last sent after s', 'of it'], rows);
  const off = Math.abs(took / slowest - 1) * 100;
  claims.check(off <= flags.within, `took ${ratio(took, slowest)} of the permitted time`);
}

async function tellStates(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ state: string; count: string }>(
    'select state, count(*) from mirror.submissions group by 1 order by 1',
  );
  print(rows.map(({ state, count }) => `${count} ${state}`).join(', '));
}

/** How long after the answer the job that it named was in the mirror. */
async function tellObjects(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ delay: number | null }>(
    `select extract(epoch from j._first_seen_at - s.done_at)::float8 as delay
     from mirror.submissions s
     left join mirror.research_jobs j
       on j._user_id = s._user_id and j.job_id = (s.response ->> 'job_id')::bigint
     where s.operation = 'research' and s.state = 'accepted'`,
  );
  const delays = rows.flatMap(({ delay }) => delay ?? []).toSorted((a, b) => a - b);
  print(
    `${delays.length} of ${rows.length} research jobs that were made are in the mirror, a median of ` +
      `${quantile(delays, 0.5).toFixed(1)} s after the answer`,
  );
}

async function numberOf(client: pg.Client, query: string): Promise<number> {
  return (await client.query<{ count: number }>(query)).rows[0]?.count ?? Number.NaN;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function ratio(took: number, permitted: number): string {
  return permitted === 0 ? '' : `${((took / permitted) * 100).toFixed(1)} %`;
}
