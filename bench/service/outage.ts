/**
 * A service that answers every request with a 500 for some minutes, under many accounts: what the daemon sends
 * meanwhile, what it says of it, and how soon it is back. The daemon as it is shipped (a poll each minute).
 *
 *     node bench/service/outage.ts [--accounts 12] [--minutes 4] [--postgres URL]
 */
import type pg from 'pg';
import type { SandboxControl } from '@research-mirror/sandbox/testing/control-client';
import type { StatusReport } from '../../src/model/status/status-report.ts';
import { problemLine } from '../../src/model/status/problem.ts';
import { startProgram } from '../../test/support/processes/program.ts';
import { readFlags } from '../support/flags.ts';
import { pause } from '../support/pause.ts';
import { Claims, print, printMachine, printTable } from '../support/report.ts';
import { programOptions } from '../support/run-sync.ts';
import { onStage, withClient } from '../support/stage.ts';

const flags = readFlags({ accounts: 12, minutes: 4, postgres: '' });
const claims = new Claims();
const MINUTE = 60_000;

await onStage(flags.postgres, async (stage) => {
  const users = Array.from({ length: flags.accounts }, (_, index) => 1001 + index);
  const keys = users.map((user) => `key-${user}`).join();
  const sandbox = await stage.sandbox({
    keys: users.map((user) => `key-${user}=${user}`).join(),
    jobs: 500,
    lists: 5,
    itemsPerList: 20,
  });
  const { control } = sandbox;
  const url = await stage.database();
  const env = { DATABASE_URL: url, MIRROR_HTTP_PORT: '0', MIRROR_API_KEY: keys, LOG_FORMAT: 'json' };
  const daemon = startProgram(['start'], programOptions({ sandbox, folder: stage.folder, env }));
  try {
    await daemon.until('status page http');
    const page = /status page (http:\/\/\S+?)["\s]/.exec(daemon.output())?.[1] ?? '';
    await withClient(url, async (client) => {
      await until(
        client,
        `select count(*) = ${users.length * 6} as ok from mirror.freshness where polled_at is not null`,
      );
      const before = await requestsIn(control, MINUTE);
      await control.change({ fault500: 1 });
      const logged = lines(daemon.output());
      const perMinute: number[] = [];
      for (let nth = 0; nth < flags.minutes; nth += 1) perMinute.push(await requestsIn(control, MINUTE));
      const report = (await (await fetch(new URL('api/status', page))).json()) as StatusReport;
      const said = lines(daemon.output()) - logged;
      await control.change({ fault500: 0 });
      const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
      const back = performance.now();
      await until(
        client,
        `select bool_and(polled_at > $1 and state = 'current') as ok from mirror.freshness`,
        [rows[0]?.now],
      );
      const recovered = (performance.now() - back) / 1000;
      printMachine();
      printTable(
        ['', 'value'],
        [
          ['accounts, collections', `${users.length}, ${users.length * 6}`],
          ['requests in the minute before', String(before)],
          ['requests in each minute of the outage', perMinute.join(', ')],
          ['problems', String(report.problems.length)],
          ['lines of log in the outage', String(said)],
          ['all collections current again after', `${recovered.toFixed(0)} s`],
        ],
      );
      for (const problem of report.problems) print(`problem: ${problemLine(problem, Date.parse(report.at))}`);
      claims.check(report.problems.length === 1, `${report.problems.length} problems`);
      claims.check((perMinute.at(-1) ?? 0) <= 10, `${perMinute.at(-1)} requests in the last minute`);
      claims.check(recovered < 60, `${recovered.toFixed(0)} s until all was current`);
    });
    claims.tell('an outage is one problem, costs a probe now and then, and is over within a poll interval');
  } finally {
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  }
});

function lines(text: string): number {
  return text.split('\n').length;
}

async function requestsIn(control: SandboxControl, ms: number): Promise<number> {
  const before = (await control.counters()).requests;
  await pause(ms);
  return (await control.counters()).requests - before;
}

async function until(client: pg.Client, question: string, values: readonly unknown[] = []): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ ok: boolean | null }>(question, [...values]);
    if (rows[0]?.ok === true) return;
    await pause(500);
  }
}
