import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { openTestDatabase } from '../../support/databases/migrated-database.ts';
import { rowsOf } from '../../support/mirror/copied-mirror.ts';
import { createTestDatabase, startTestServer, type TestDatabase } from '../../support/postgres/postgres.ts';
import { ask } from '../../support/postgres/on-connection.ts';
import {
  isMachinePostgresTested,
  removeDataFolder,
  startMachineServer,
} from '../../support/postgres/machine-postgres.ts';
import { createSystem, createFrozenSystem, type Environment, type System } from '../../support/processes/system.ts';

let system: System;
let place: TestDatabase | undefined;
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await removeDataFolder(folder);
  await system.close();
  await place?.drop();
  place = undefined;
});

/** A folder for an embedded Postgres. */
function dataDir(name: string): string {
  const folder = join(system.cwd, name);
  folders.push(folder);
  return folder;
}

/** The embedded Postgres of that folder as the mirror. */
const mirrorIn = (folder: string): Environment => ({
  DATABASE_URL: undefined,
  MIRROR_DATA_DIR: folder,
  MIRROR_PG_PORT: '0',
});

async function asked(env: Environment, query: string): Promise<unknown> {
  const { code, stdout, stderr } = await system.run(['sql', '--json', query], env);
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { rows: unknown }).rows;
}

async function rowsAt(url: string): Promise<Map<string, string[]>> {
  const { db, close } = await openTestDatabase(url);
  try {
    return await rowsOf(db);
  } finally {
    await close();
  }
}

async function rowsIn(folder: string): Promise<Map<string, string[]>> {
  const server = await startTestServer(folder);
  try {
    return await rowsAt(server.url);
  } finally {
    await server.stop();
  }
}

describe('copy', () => {
  it('makes a mirror that goes on in an embedded Postgres, and sends nothing before it may', async () => {
    system = await createFrozenSystem();
    await system.sync(['--full']);
    await system.db.query(`select mirror.submit('research', '{"company_url": "https://a.example"}')`);
    const folder = dataDir('second');
    const copied = await system.run(['copy', '--data-dir', folder]);
    expect(copied).toMatchObject({ code: 0 });
    expect(copied.stdout).toMatch(/^copied [\d,]+ rows of \d+ tables, as of \S+\.\n/);
    expect(copied.stdout).toContain('submissions release');
    const here = mirrorIn(folder);
    expect(await asked(here, 'select state from submissions')).toEqual([{ state: 'held' }]);

    await system.sync(['--full'], { env: here });
    expect(await system.run(['verify'], here)).toMatchObject({ code: 0 });
    expect(
      await asked(
        here,
        'select inserted, updated from sync_log where started_at > (select max(detected_at) from recoveries) and inserted + updated > 0',
      ),
    ).toEqual([]);
    expect(await system.sandbox.control.operations()).toEqual([]);
    expect(await system.run(['submissions', 'release'], here)).toMatchObject({ code: 0 });
    const daemon = await system.daemon(here);
    const sent = async () => (await system.sandbox.control.operations()).length;
    await eventually('what was queued to be sent', async () => (await sent()) === 1);
    await daemon.stop();
  });

  it('is one moment of a mirror whose daemon runs', async () => {
    system = await createSystem();
    const daemon = await system.daemon();
    await eventually('the jobs to be mirrored', () =>
      system.one<boolean>('select count(*) = 300 from mirror.research_jobs'),
    );
    place = await createTestDatabase();
    const copied = await system.run(['copy', '--json'], { MIRROR_COPY_TO: place.url });
    expect(copied).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Warning') as string });
    expect(JSON.parse(copied.stdout)).toMatchObject({
      schema: 'mirror',
      held: true,
      tables: { 'mirror.research_jobs': 300 },
    });
    expect(copied.stdout).not.toContain(new URL(place.url).password);
    await daemon.stop();
  });

  it('says what is wrong with a target, and shows no password', async () => {
    system = await createSystem();
    place = await createTestDatabase();
    const login = { username: 'nobody_here', password: 'hunter-password' };
    const wrong = Object.assign(new URL(place.url), login).href;
    const elsewhere = /takes no target on the command line.*Set MIRROR_COPY_TO/;
    const cases: readonly (readonly [readonly string[], string | undefined, number, RegExp])[] = [
      [[], undefined, 2, /copy needs one target\. Set MIRROR_COPY_TO/],
      [[wrong], undefined, 2, elsewhere],
      [['--data-dir', wrong], undefined, 2, elsewhere],
      [['--data-dir', 'x'], place.url, 2, /--data-dir, not both/],
      [[], 'mysql://hunter-password', 2, /MIRROR_COPY_TO: is not a Postgres connection URL/],
      [[], wrong, 3, /the target: .*Check user and password in MIRROR_COPY_TO/],
      [[], system.databaseUrl, 1, /the target already has a mirror in schema "mirror"/],
    ];
    for (const [args, MIRROR_COPY_TO, code, message] of cases) {
      const outcome = await system.run(['copy', ...args], { MIRROR_COPY_TO });
      const stderr = expect.stringMatching(message) as string;
      expect(outcome, `of ${args.join(' ')}`).toMatchObject({ code, stdout: '', stderr });
      expect(outcome.stderr).not.toContain('hunter');
    }
    expect(await ask(place.url, `select from pg_namespace where nspname like 'mirror%'`)).toEqual([]);
  });
});

describe.runIf(isMachinePostgresTested('copy to another PostgreSQL'))('copy to another PostgreSQL', () => {
  it('and back has every row of every table', async () => {
    system = await createFrozenSystem();
    await system.sync(['--full']);
    const id = await system.one<string>('select min(job_id)::text from mirror.research_jobs');
    const fields = { note: 'tab\tline\n\\.', late_field: 1.5 };
    await system.sandbox.control.mutate({ op: 'update', collection: 'research_jobs', id, fields });
    await system.sync(['--full']);
    await system.db.query(`select mirror.submit('research', '{"company_url": "https://a.example"}')`);
    const [first, last] = [dataDir('first'), dataDir('last')];
    expect(await system.run(['copy', '--data-dir', first])).toMatchObject({ code: 0 });
    const expected = await rowsAt(system.databaseUrl);
    expect(expected.get('mirror.research_jobs_history')).not.toEqual([]);
    expect(await rowsIn(first)).toEqual(expected);
    const other = await startMachineServer();
    try {
      const there = { MIRROR_COPY_TO: other.url };
      expect(await system.run(['copy'], { ...mirrorIn(first), ...there })).toMatchObject({ code: 0 });
      expect(await rowsAt(other.url)).toEqual(expected);
      const back = await system.run(['copy', '--data-dir', last], { DATABASE_URL: other.url });
      expect(back).toMatchObject({ code: 0 });
      expect(await rowsIn(last)).toEqual(expected);
    } finally {
      await other.remove();
    }
  });
});
