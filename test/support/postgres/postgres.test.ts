import pg from 'pg';
import { expect, it } from 'vitest';
import { createTestDatabase } from './postgres.ts';

it('gives each test file a database of its own, empty, and takes it away again', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  const client = new pg.Client({ connectionString: one.url });
  client.on('error', () => {});
  await client.connect();
  const ended = new Promise((resolve) => {
    client.once('end', resolve);
  });
  const { rows } = await client.query<{ version: number; relations: string }>(
    `select current_setting('server_version_num')::int as version,
       (select count(*) from pg_class where relnamespace = 'public'::regnamespace) as relations`,
  );
  expect(rows[0]?.version).toBeGreaterThanOrEqual(150_000);
  expect(rows[0]?.relations).toBe('0');
  expect(one.url).not.toBe(other.url);
  await Promise.all([one.drop(), other.drop()]);
  await ended;
});
