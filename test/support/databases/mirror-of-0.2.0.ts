import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readMigrations } from '../../../src/postgres/run-migrations.ts';
import { onConnection } from '../postgres/on-connection.ts';
import { copyTestDatabase, type TestDatabase } from '../postgres/postgres.ts';
import { MIGRATIONS } from './migrated-database.ts';

/**
 * A database of its own with a mirror as version 0.2.0 left it: accounts 1001 and 1002 of the emulated service, with
 * history, deleted rows, events, submissions of each state, and an item in quarantine each.
 */
export function createMirrorOf020(): Promise<TestDatabase> {
  return copyTestDatabase('mirror_of_0_2_0', (url) =>
    onConnection(url, async (client) => {
      for (const { name, text } of await readMigrations(MIGRATIONS)) {
        if (name < '0028') await client.query(text.replaceAll('{schema}', 'mirror'));
      }
      await client.query(await readFile(join(import.meta.dirname, 'mirror-of-0.2.0.sql'), 'utf8'));
    }),
  );
}

/** A process of that version, as its heartbeat stores it, valid for so many seconds from now. */
export const HEARTBEAT_OF_020 = `insert into mirror_sync.process
  (process_id, command, version, host, machine, pid, started_ticks, started_at, alive_until)
  values ('old', 'start', '0.2.0', 'elsewhere', '', 42, '', clock_timestamp(), clock_timestamp() + $1 * interval '1 s')
  on conflict (process_id) do update set alive_until = excluded.alive_until`;
