import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { StatusReport } from '../../../src/model/status/status-report.ts';
import { createGateway, type Gateway } from '../../support/network/gateway.ts';
import { readExamination } from '../../support/processes/doctor.ts';
import { isPrometheusTested, type Prometheus, startPrometheus } from '../../support/processes/prometheus.ts';
import { createSystem, type Daemon, type System } from '../../support/processes/system.ts';
import { alerts, ALERTS_FILE } from '../../support/rules/monitoring.ts';
import { ROOT } from '../../support/rules/source-files.ts';
import { createTcpGate, SCENARIOS, type Stage, type TcpGate } from './scenarios.ts';

// No surface says healthy, equal or fine over what is wrong, and each wrong thing is one problem.

interface Row {
  readonly what: string;
  readonly status: string;
  readonly readyz: string;
  readonly doctor: string;
  readonly sync: string;
  readonly alert: string;
}

/** The first table of docs/what-goes-wrong.md. */
const ROWS: readonly Row[] = readFileSync(join(ROOT, 'docs/what-goes-wrong.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter((cells) => cells.length === 8 && cells[1] !== 'what goes wrong')
  .map(([, what = '', status = '', readyz = '', doctor = '', sync = '', alert = '']) => {
    return { what, status, readyz, doctor, sync, alert };
  });

const DAEMON = { MIRROR_DELETES: 'hard', MIRROR_SETTLE: '1s' };
let system: System;
let service: Gateway;
let database: TcpGate;
let daemon: Daemon;
let stage: Stage;
let prometheus: Prometheus | undefined;

beforeAll(async () => {
  system = await createSystem();
  service = await createGateway(system.sandbox.url);
  database = await createTcpGate(system.databaseUrl);
  await system.sync(['--full'], { env: environment() });
  daemon = await system.daemon(environment());
  if (isPrometheusTested()) prometheus = await startPrometheus(new URL(daemon.statusUrl), ALERTS_FILE);
  const name = new URL(system.databaseUrl).pathname.slice(1);
  stage = {
    system,
    service,
    database,
    sql: async (...statements) => {
      const options = '-c default_transaction_read_only=off';
      const client = new pg.Client({ connectionString: system.databaseUrl, options });
      await client.connect();
      try {
        for (const text of statements) await client.query(text.replaceAll('{database}', name));
      } finally {
        await client.end();
      }
    },
  };
});
afterAll(async () => {
  await prometheus?.stop();
  await service?.close();
  await system?.close();
  await database?.close();
});

const environment = (): Record<string, string> => ({
  ...DAEMON,
  DATABASE_URL: database.url,
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

async function doctor(): Promise<string> {
  const examined = readExamination(await system.run(['doctor', '--json'], environment()));
  return `${examined.code} ${[...new Set(examined.in('broken'))].toSorted().join(', ')}`.trim();
}

/** Waits until a surface says it; in vain: the error has what it said last. */
async function says<T extends { readonly said: string }>(
  surface: string,
  expected: string,
  ask: () => Promise<T>,
): Promise<T> {
  return eventually(`${surface} to say "${expected}"`, async () => {
    const found = await ask();
    if (found.said !== expected) throw new Error(`it says ${JSON.stringify(found)}`);
    return found;
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
    try {
      await scenario.happen(stage);
      const outcome = await system.run(['sync', ...scenario.sync], environment());
      expect(String(outcome.code)).toBe(row.sync);
      const { whats } = await says('status', row.status, status);
      await eventually(
        `readiness ${row.readyz}`,
        async () => String((await ask('readyz')).status) === row.readyz,
      );
      // Without a report the page says what it got in place of one (503).
      await eventually('the page to say it', async () => {
        const { text, status: code } = await ask('');
        const shown = text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
        if (shown.includes('The mirror is healthy')) return false;
        return code === 503 || whats.every((what) => shown.includes(what.slice(0, 40)));
      });
      expect(await doctor()).toBe(row.doctor);
      if (prometheus !== undefined) await eventually(row.alert, () => fires(row.alert));
    } finally {
      await scenario.mend(stage);
    }
    await eventually('the mended mirror to be read', async () => {
      const { code } = await system.run(['sync', ...scenario.sync], environment());
      return code === 0;
    });
    await says('status', '0', status);
  });
});
