import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { LEFT_BEHIND } from '../../../src/postgres/citus.ts';
import { openTestDatabase } from '../../support/databases/migrated-database.ts';
import { rowsOf } from '../../support/mirror/copied-mirror.ts';
import { rowsWith } from '../../support/mirror/search-everything.ts';
import {
  isMachinePostgresTested,
  MACHINE_POSTGRES,
  type MachineServer,
  startMachineServer,
} from '../../support/postgres/machine-postgres.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';
import { shellRecipes } from '../../support/rules/recipes.ts';
import { ROOT } from '../../support/rules/source-files.ts';
import { ask } from '../../support/postgres/on-connection.ts';

const SECRET = 'whsec_never_in_a_backup';

/** The commands of a section of docs/backups.md. */
const commandsOf = async (heading: string): Promise<string> => (await shellRecipes(heading)).join('');

/** Tables whose data an option of pg_dump leaves out. */
function excludedIn(text: string): string[] {
  const [, tables = ''] = /--exclude-table-data='mirror_sync\.\(([a-z_|]+)\)'/.exec(text) ?? [];
  return tables.split('|');
}

it('the backups of the documents leave out what a copy leaves behind, but for rights and migrations', async () => {
  const behind = LEFT_BEHIND.map(({ name }) => name).filter((name) => !['granted', 'migration'].includes(name));
  const excluded = excludedIn(await commandsOf('A backup with pg_dump'));
  expect(excluded).toEqual([...behind, 'registration'].toSorted());
  expect(excludedIn(await readFile(join(ROOT, 'docs/containers.md'), 'utf8'))).toEqual(excluded);
});

describe.runIf(isMachinePostgresTested('the recipe with pg_dump', 'pg_dump'))('a backup with pg_dump', () => {
  let server: MachineServer;
  let system: System;
  afterEach(async () => {
    await system.close();
    await server.remove();
  });

  it('has every row and no secret, and is known as a restored mirror, which sends nothing', async () => {
    server = await startMachineServer();
    const [url, restored] = await Promise.all([newDatabase('original'), newDatabase('restored')]);
    system = await createFrozenSystem({}, { url, drop: () => Promise.resolve() });
    await system.sync(['--full']);
    const original = await openTestDatabase(url);
    const hash = await system.one<string>('select key_hash from mirror_sync.api_key');
    await system.db.query(`insert into mirror_sync.registration (_user_id, state, url, secret)
      select _user_id, 'registered', 'https://here.example', '${SECRET}' from mirror_sync.api_key`);
    await system.db.query(`select mirror.submit('research', '{"company_url": "https://a.example"}')`);

    const PATH = `${MACHINE_POSTGRES?.bin ?? ''}${delimiter}${process.env['PATH'] ?? ''}`;
    await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', await commandsOf('A backup with pg_dump')], {
      cwd: system.cwd,
      env: { PATH, DATABASE_URL: url, NEW_DATABASE_URL: restored },
    });
    const expected = await rowsOf(original.db);
    const there = await openTestDatabase(restored);
    for (const needle of [SECRET, hash]) {
      expect(await rowsWith(original.db, needle)).not.toEqual([]);
      expect(await rowsWith(there.db, needle)).toEqual([]);
    }
    await original.close();
    expected.set('state.registration', []);
    expect(await rowsOf(there.db)).toEqual(expected);
    const daemon = await system.daemon({ DATABASE_URL: restored });
    await eventually('the daemon to know it as restored', async () => {
      const found = await there.db.sql<{ state: string }>`select state from mirror.submissions`;
      return found.rows[0]?.state === 'held';
    });
    const report = await system.run(['status', '--json'], { DATABASE_URL: restored });
    expect(report.stdout).toContain('this is not the database that was here before');
    const granted = await there.db.sql`
      select has_table_privilege('mirror_reader', 'mirror.lists', 'select') as reads`;
    expect(granted.rows).toEqual([{ reads: true }]);
    // Postgres gives everybody the right to call a function that it makes.
    const open = await there.db.sql`
      select oid::regprocedure::text from pg_proc
      where pronamespace in ('mirror'::regnamespace, 'mirror_sync'::regnamespace)
        and has_function_privilege('public', oid, 'execute')`;
    expect(open.rows).toEqual([]);
    await daemon.stop();
    expect(await system.sandbox.control.operations()).toEqual([]);
    await there.close();
  });

  /** @returns its URL */
  async function newDatabase(name: string): Promise<string> {
    await ask(server.url, `create database ${name}`);
    return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  }
});
