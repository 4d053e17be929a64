import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../postgres/postgres.ts';

/**
 * A database of its own with a mirror as version 0.2.0 left it (make-mirror-of-0.2.0.ts): accounts 1001 and 1002 of the
 * emulated service, with history, deleted rows, events, submissions of each state, and an item in quarantine each.
 */
export async function createMirrorOf020(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(await readFile(join(import.meta.dirname, 'mirror-of-0.2.0.sql'), 'utf8'));
  await client.end();
  return database;
}

/** A process of that version, as its heartbeat stores it, valid for so many seconds from now. */
export const HEARTBEAT_OF_020 = `insert into mirror_sync.process
  (process_id, command, version, host, machine, pid, started_ticks, started_at, alive_until)
  values ('old', 'start', '0.2.0', 'elsewhere', '', 42, '', clock_timestamp(), clock_timestamp() + $1 * interval '1 s')
  on conflict (process_id) do update set alive_until = excluded.alive_until`;
