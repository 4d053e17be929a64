import type { Problem } from '../../../src/model/status/problem.ts';
import pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { serverUrl } from '../../support/postgres/postgres.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
let admin: pg.Client | undefined;
afterEach(async () => {
  await admin?.end();
  await system.close();
});

/** As a failover does that leaves the address with a standby: old connections end, new ones can't write. */
async function turn(to: 'read-only' | 'writable'): Promise<void> {
  const name = new URL(system.databaseUrl).pathname.slice(1);
  const setting = 'default_transaction_read_only';
  await admin?.query(
    `alter database ${name} ${to === 'read-only' ? `set ${setting} = on` : `reset ${setting}`}`,
  );
  await admin?.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
}

it('is told as not ready and not healthy while the database can only be read, and passes with it', async () => {
  system = await createSystem();
  admin = new pg.Client({ connectionString: await serverUrl() });
  await admin.connect();
  const daemon = await system.daemon();
  const ask = async (path: string): Promise<{ status: number; body: string }> => {
    const answer = await fetch(`${daemon.statusUrl}/${path}`);
    return { status: answer.status, body: await answer.text() };
  };
  await eventually('to be ready', async () => (await ask('readyz')).status === 200);

  await turn('read-only');
  const unready = await eventually('not to be ready', async () => {
    const answer = await ask('readyz');
    return answer.status === 503 && answer.body.includes('read-only') ? answer : undefined;
  });
  expect(JSON.parse(unready.body)).toMatchObject({ ok: false });
  await eventually('not to be healthy', async () => {
    const report = JSON.parse((await ask('api/status')).body) as { healthy: boolean; problems?: Problem[] };
    return (
      !report.healthy && report.problems?.some((each) => each.what.includes('the database is read-only'))
    );
  });
  const { code, stdout } = await system.run(['status', '--json']);
  expect(code).toBe(1);
  const { problems } = JSON.parse(stdout) as { problems: Problem[] };
  expect(problems).toMatchObject([{ cause: 'database_unready' }]);
  expect((await ask('metrics')).body).toMatch(/^research_mirror_ready 0$/m);
  expect((await ask('healthz')).status).toBe(200);

  await turn('writable');
  await eventually('to be ready again', async () => (await ask('readyz')).status === 200);
  expect(await daemon.stop()).toMatchObject({ code: 0 });
});
