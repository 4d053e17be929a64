/**
 * `research-mirror sync --full` under the service's real limits, with the whole share and real latency: how much of
 * what is possible it uses, and whether it is ever refused.
 *
 * Possible (docs/design/rate-limit.md, "Slots") are N requests per P = 60 s + mean response time + guard: a slot that is used again at once is
 * used every P. The first window is filled as fast as one walk at a time allows, in every schedule; so what is
 * measured are the returns: request i can follow request i − N by P at the earliest. Two figures:
 * - lasting rate: N / mean(time of i − time of i − N) over all i ≥ N, against N / P
 * - whole walk: the time in which the same first window, every slot used each P from then on, would have sent as many
 *   requests, against the time that they took
 *
 *     node bench/service/real-limits.ts [--jobs 45000] [--lists 60] [--limit 60] [--latency-min 20] [--latency-max 200]
 *                               [--target 97] [--postgres URL]
 */
import { GUARD_MS } from '../../src/service/slots.ts';
import { differences } from '../../test/support/mirror/mirror-truth.ts';
import { readFlags } from '../support/flags.ts';
import { Claims, mean, print, printMachine, printTable } from '../support/report.ts';
import { runSync } from '../support/run-sync.ts';
import { onStage, withPool } from '../support/stage.ts';

const WINDOW_MS = 60_000;

const flags = readFlags({
  jobs: 45_000,
  lists: 60,
  limit: 60,
  'latency-min': 20,
  'latency-max': 200,
  target: 97,
  postgres: '',
});
const claims = new Claims();

await onStage(flags.postgres, async (stage) => {
  const sandbox = await stage.sandbox({
    jobs: flags.jobs,
    lists: flags.lists,
    limitOther: flags.limit,
    latencyMin: flags['latency-min'],
    latencyMax: flags['latency-max'],
  });
  await sandbox.control.clock({ freeze: true });
  const url = await stage.database();
  const run = await runSync({ sandbox, folder: stage.folder, env: { DATABASE_URL: url } });
  const { rateLimited } = await sandbox.control.counters();
  const sent = (await sandbox.control.log()).map((request) => request.monotonic);

  const different = await withPool(url, (db) => differences({ sandbox, db }));
  for (const problem of different) claims.check(false, problem);

  const { returns, lasting, whole, period } = usage(sent);
  printMachine();
  print(
    `${flags.jobs} research jobs, ${flags.lists} lists; ${flags.limit} requests per 60 s, share 1, ` +
      `latency ${flags['latency-min']}–${flags['latency-max']} ms`,
  );
  printTable(
    ['requests', '429s', 'items', 'took', 'a minute', 'possible', 'lasting rate', 'whole walk'],
    [
      [
        String(sent.length),
        String(rateLimited),
        String(run.items),
        `${run.seconds.toFixed(1)} s`,
        ((flags.limit * 60_000) / returns).toFixed(2),
        ((flags.limit * 60_000) / period).toFixed(2),
        percent(lasting),
        percent(whole),
      ],
    ],
  );
  claims.check(rateLimited === 0, `${rateLimited} requests were refused with 429`);
  claims.check(lasting * 100 >= flags.target, `lasting rate ${percent(lasting)}, not ${flags.target} %`);
  claims.check(whole * 100 >= flags.target, `whole walk ${percent(whole)}, not ${flags.target} %`);
  claims.tell(`no 429, at least ${flags.target} % of what is possible, and the mirror equals the truth`);
});

/** @param sent arrival of each request at the sandbox, monotonic milliseconds, in order */
function usage(sent: readonly number[]): { returns: number; period: number; lasting: number; whole: number } {
  const size = flags.limit;
  if (sent.length <= 1.5 * size) throw new Error(`${sent.length} requests say nothing of ${size} a minute`);
  // The sandbox's own latency; what the network and both programs add is not granted.
  const period = WINDOW_MS + (flags['latency-min'] + flags['latency-max']) / 2 + GUARD_MS;
  const returns = mean(sent.slice(size).map((at, index) => at - (sent[index] ?? at)));
  const last = sent.length - 1;
  const begin = sent[0] ?? 0;
  const best = (sent[last % size] ?? 0) - begin + Math.floor(last / size) * period;
  return { returns, period, lasting: period / returns, whole: best / ((sent[last] ?? 0) - begin) };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
