import type pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createOwnServer, type OwnServer } from '../../support/databases/own-server.ts';
import { openPool } from '../../support/postgres/on-connection.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

let system: System;
let server: OwnServer | undefined;
let db: pg.Pool | undefined;
afterEach(async () => {
  await system.close();
  await db?.end();
  await server?.remove();
  server = undefined;
  db = undefined;
});

it('a database that can’t be reached ends sync with 3 and a clear line; start waits for it, outlives restarts in the middle of walks, and says so once', async () => {
  server = await createOwnServer();
  // Made once, so that its password is known.
  const url = await server.up();
  await server.down();
  const slow = { latencyMin: 20, latencyMax: 60 };
  system = await createFrozenSystem({ jobs: 3_000, maxLimit: 50, badLimit: 'clamped', ...slow });
  const port = await nonEphemeralPort();
  const env = { DATABASE_URL: url, MIRROR_HTTP_PORT: String(port) };
  const { code, stderr } = await system.run(['sync'], env);
  expect(code).toBe(3);
  expect(stderr).toMatch(new RegExp(`127\\.0\\.0\\.1:${server.port}|ECONNREFUSED`));

  const running = system.begin(['start'], env);
  await running.until('Retrying in 0.5 s');
  const search = async (): Promise<[status: number, heading: string | undefined]> => {
    const response = await fetch(`http://127.0.0.1:${port}/search?q=1`);
    return [response.status, /<h1>(.*)<\/h1>\s*<p>[^<]*/.exec(await response.text())?.[0]];
  };
  const unanswered = [503, expect.stringMatching(/can’t be read right now.*the database/s)];
  expect(await search()).toEqual(unanswered);
  await server.up();
  await running.until('status page http');
  for (let restarts = 0; restarts < 3; restarts += 1) {
    const before = (await system.sandbox.control.counters()).requests;
    await eventually('some pages', async () => {
      return (await system.sandbox.control.counters()).requests > before + 6;
    });
    await server.down();
    await server.up();
  }
  const pool = (db = openPool(url));
  const isEqual = async () => {
    const found = await differences({ sandbox: system.sandbox, db: pool });
    if (found.length > 0) throw new Error(found.slice(0, 5).join('; '));
    return true;
  };
  await eventually('the mirror to be equal to the service', isEqual, 40_000);
  const isCurrent = async () =>
    (await pool.query(`select from mirror.freshness where state <> 'current'`)).rows.length === 0;
  // What failed is tried again after half a minute at most, and then it is read, on a machine that may be busy.
  await eventually('every collection to be current again', isCurrent, 90_000);
  await server.down();
  await running.until('Check that the PostgreSQL server runs: ');
  expect(await search()).toEqual(unanswered);
  await server.up();
  await running.until('the database answers again, after ');
  expect(await search()).toEqual([200, expect.stringMatching(/found|Search/)]);
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
  // One line tells that it is down, with the remedy: nothing that fails for it says so again.
  const riddles = running
    .output()
    .split('\n')
    .filter((line) => /the database can't/.test(line) && !/"research-mirror doctor\\" says/.test(line));
  expect(riddles).toEqual([]);
});
