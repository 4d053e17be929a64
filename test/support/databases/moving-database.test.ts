import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Cluster, createSite, type Site } from './cluster.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createMovingDatabase, type MovingDatabase } from './moving-database.ts';

let site: Site;
let origin: Cluster;
let moving: MovingDatabase;
let client: pg.Pool;

beforeAll(async () => {
  site = await createSite();
  origin = await site.cluster();
});
afterEach(async () => {
  await client.end();
  await moving.close();
});
afterAll(() => site.remove());

async function open(): Promise<void> {
  moving = await createMovingDatabase(await origin.copyFiles());
  client = new pg.Pool({ connectionString: moving.url, max: 2 });
  client.on('error', () => {});
  await client.query('create table seen (n int)');
}

const add = (n: number): Promise<unknown> => client.query('insert into seen values ($1)', [n]);

async function seen(): Promise<number[]> {
  return eventually('the database', async () =>
    (await client.query<{ n: number }>('select n from seen order by n')).rows.map(({ n }) => n),
  );
}

async function timeline(): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    'select left(pg_walfile_name(pg_current_wal_lsn()), 8) as id',
  );
  return rows[0]?.id;
}

it('goes back to a backup in place, on the same timeline', async () => {
  await open();
  await add(1);
  const backup = await moving.backUp();
  await add(2);
  const before = await timeline();
  await moving.restore(backup);
  expect(await seen()).toEqual([1]);
  expect(await timeline()).toBe(before);
});

it('goes back to a copy of the database that takes its name', async () => {
  await open();
  await add(1);
  await moving.copyDatabase();
  await eventually('a connection', () => add(2).then(() => true));
  await moving.takeCopy();
  expect(await seen()).toEqual([1]);
});
