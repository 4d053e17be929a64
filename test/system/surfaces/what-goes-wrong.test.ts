import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { StatusReport } from '../../../src/status/status-report.ts';
import { createGateway, type Gateway } from '../../support/network/gateway.ts';
import { type Address, createAddress } from '../../support/network/address.ts';
import { type Examination, ran, readExamination } from '../../support/processes/doctor.ts';
import { isPrometheusTested, type Prometheus, startPrometheus } from '../../support/processes/prometheus.ts';
import type { Daemon, System } from '../../support/processes/system.ts';
import { createDbaSystem, playedRows } from './played-rows.ts';
import { alerts, ALERTS_FILE } from '../../support/rules/monitoring.ts';
import { SCENARIOS, type Stage } from './scenarios.ts';
import { onConnection } from '../../support/postgres/on-connection.ts';

// No surface says healthy, equal or fine over what is wrong, and each wrong thing is one problem.

/** The first table of docs/what-goes-wrong.md; `log` and `over`: what the daemon writes when it begins, and when it is over. */
const ROWS = playedRows(8).map(
  ([what = '', status = '', readyz = '', doctor = '', sync = '', log = '', over = '', alert = '']) => {
    return { what, status, readyz, doctor, sync, log, over, alert };
  },
);

const WITHIN_MS = 120_000;
/** Between two looks, of which each starts the program. */
const EVERY_MS = 2_000;

let dba: Awaited<ReturnType<typeof createDbaSystem>>;
let system: System;
let service: Gateway;
let database: Address;
let daemon: Daemon;
let stage: Stage;
let prometheus: Prometheus | undefined;

beforeAll(async () => {
  dba = await createDbaSystem();
  ({ system } = dba);
  service = await createGateway(system.sandbox.url);
  database = await createAddress(Number(dba.url.port));
  await system.sync(['--full'], { env: environment() });
  daemon = await system.daemon(environment());
  if (isPrometheusTested()) prometheus = await startPrometheus(new URL(daemon.statusUrl), ALERTS_FILE);
  const name = dba.url.pathname.slice(1);
  stage = {
    system,
    service,
    database,
    sql: (...statements) =>
      onConnection(
        system.databaseUrl,
        async (client) => {
          for (const text of statements)
            await client.query(text.replaceAll('{database}', name).replaceAll('{login}', dba.login));
        },
        { options: '-c default_transaction_read_only=off' },
      ),
  };
});
afterAll(async () => {
  await prometheus?.stop();
  await service?.close();
  await dba?.close();
  await database?.close();
});

const environment = (): Record<string, string> => ({
  MIRROR_DELETES: 'hard',
  MIRROR_SETTLE: '1s',
  DATABASE_URL: Object.assign(new URL(dba.url), { host: `127.0.0.1:${database.port}` }).href,
  MIRROR_API_URL: service.url,
});

async function ask(path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${daemon.statusUrl}/${path}`);
  return { status: answer.status, text: await answer.text() };
}

/** Exit code, and the problems' causes; without a report the code alone. */
async function status(): Promise<{ said: string; whats: readonly string[] }> {
  const { code, stdout } = await system.run(['status', '--json'], environment());
  const problems = stdout.startsWith('{') ? (JSON.parse(stdout) as StatusReport).problems : [];
  return {
    said: [String(code), ...problems.map(({ cause }) => cause)].join(' '),
    whats: problems.map(({ what }) => what),
  };
}

/** As `status` says it, by the daemon, which costs no start of the program; 3: without a report. */
async function reported(): Promise<{ said: string }> {
  const { status: code, text } = await ask('api/status');
  if (code !== 200) return { said: '3' };
  const { healthy, problems } = JSON.parse(text) as StatusReport;
  return { said: [healthy ? '0' : '1', ...problems.map(({ cause }) => cause)].join(' ') };
}

async function doctor(): Promise<Examination & { readonly said: string }> {
  const examined = readExamination(await system.run(['doctor', '--json'], environment()));
  const said = `${examined.code} ${[...new Set(examined.in('broken'))].toSorted().join(', ')}`.trim();
  return { ...examined, said };
}

/** Waits until a surface says it; in vain: the error has what it said last. */
async function says<T extends { readonly said: string }>(
  surface: string,
  expected: string,
  ask: () => Promise<T>,
  everyMs = EVERY_MS,
): Promise<T> {
  const look = async (): Promise<T> => {
    const found = await ask();
    if (found.said !== expected) throw new Error(`it says ${JSON.stringify(found)}`);
    return found;
  };
  return eventually(`${surface} to say "${expected}"`, look, WITHIN_MS, everyMs);
}

/** Of the rows played: what is yet to be logged, behind which part of the log. */
const begun: { readonly over: string; readonly from: number }[] = [];

async function logged(text: string, from: number): Promise<void> {
  await eventually(`the log to say "${text}"`, () => {
    const lines = daemon.output().slice(from);
    if (!lines.includes(text)) throw new Error(lines.replaceAll(/"(?:level|time)":[^,]*,/g, ''));
    return true;
  });
}

/** Whether the alert's condition is met, however long it would have to be. */
async function fires(name: string): Promise<boolean> {
  const alert = alerts().find((each) => each.name === name);
  if (alert === undefined) throw new Error(`there is no alert ${name}`);
  return ((await prometheus?.query(alert.expr)) ?? []).length > 0;
}

describe('the table of what goes wrong', () => {
  it('has a row for each scenario', () => {
    expect(ROWS.map(({ what }) => what)).toEqual(Object.keys(SCENARIOS));
  });

  it.each(ROWS)('$what', async (row) => {
    const scenario = SCENARIOS[row.what];
    if (scenario === undefined) throw new Error('it is not played');
    const from = daemon.output().length;
    const isRead = async (): Promise<boolean> =>
      (await system.run(['sync', ...scenario.sync], environment())).code === 0;
    try {
      await scenario.happen(stage);
      const outcome = await system.run(['sync', ...scenario.sync], environment());
      expect(String(outcome.code)).toBe(row.sync);
      await says('the daemon', row.status, reported, 500);
      const { whats } = await says('status', row.status, status);
      await eventually(`readiness ${row.readyz}`, async () => String((await ask('readyz')).status) === row.readyz);
      // Without a report the page says what it got in place of one (503).
      await eventually('the page to say it', async () => {
        const { text, status: code } = await ask('');
        const shown = text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
        if (shown.includes('The mirror is healthy')) return false;
        return code === 503 || whats.every((what) => shown.includes(what.slice(0, 40)));
      });
      const examined = await doctor();
      expect(examined.said).toBe(row.doctor);
      if (prometheus !== undefined) await eventually(row.alert, () => fires(row.alert));
      await logged(row.log, from);
      begun.push({ over: row.over, from });
      if (scenario.foreignObject !== undefined) {
        const check = examined.the('foreign_objects');
        expect(check.found).toContain(scenario.foreignObject);
        await ran(check, system.databaseUrl);
        await eventually('what stood in the way to be gone', isRead, WITHIN_MS, EVERY_MS);
      }
    } finally {
      await scenario.mend(stage);
    }
    await eventually('the mended mirror to be read', isRead, WITHIN_MS, EVERY_MS);
    await says('the daemon', '0', reported, 500);
    await says('status', '0', status);
    // Or the next row would be not ready for this one's reason.
    await eventually('readiness', async () => (await ask('readyz')).status === 200);
  });

  // Looked for at the end: it takes up to half a minute, in which the other rows are played.
  it('is over in the log, too', async () => {
    for (const { over, from } of begun) {
      await logged(over, from);
      expect(daemon.output().slice(from)).toContain(over);
    }
  });
});
