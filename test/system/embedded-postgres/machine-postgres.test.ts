import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import {
  isMachinePostgresTested,
  MACHINE_POSTGRES,
  removeDataFolder,
} from '../../support/postgres/machine-postgres.ts';
import { runProgram, startProgram } from '../../support/processes/program.ts';
import { ask as rowsAt } from '../../support/postgres/on-connection.ts';
import { startTestServer } from '../../support/postgres/postgres.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'machine-postgres-'));
});
afterEach(() => removeDataFolder(folder));

const begin = (pgBin?: string): Promise<EmbeddedServer> => startTestServer(folder, { pgBin });

const ask = async (url: string, expression: string): Promise<unknown> =>
  (await rowsAt<{ answer: unknown }>(url, `select ${expression} as answer`))[0]?.answer;
const VERSION = `current_setting('server_version')`;

describe.runIf(isMachinePostgresTested())('a PostgreSQL of the machine’s', () => {
  const { bin, major } = MACHINE_POSTGRES ?? { bin: '', major: 0 };
  const env = { MIRROR_PG_BIN: bin };

  it('is the embedded one where MIRROR_PG_BIN names it, and its database is refused to any other', async () => {
    const server = await begin(bin);
    expect(await ask(server.url, VERSION)).toMatch(`${major}.`);
    // As npm's: texts by code points, letters of all languages, and the same settings.
    const texts = `('Z' < 'a') and lower('Ä') = 'ä' and initcap('éa') = 'Éa'`;
    expect(await ask(server.url, texts)).toBe(true);
    expect(await ask(server.url, `current_setting('wal_level')`)).toBe('minimal');
    await server.stop();
    const other = new RegExp(
      `holds a database of PostgreSQL ${major} .*Set MIRROR_PG_BIN to the folder of a PostgreSQL ${major}`,
    );
    await expect(begin()).rejects.toThrow(other);
    const files = await readdir(folder);
    expect(files).toEqual(expect.arrayContaining([`pg${major}-password`, `pg${major}.log`]));
    expect(files.filter((name) => name.startsWith('pg18'))).toEqual([]);
    expect(await embeddedState(folder)).toBe('stopped');
    await (await begin(bin)).stop();
  });

  it('carries the demo, and what is asked beside it', async () => {
    const demo = startProgram(['demo'], { cwd: folder, env });
    await demo.until('mirrored: ');
    const select = `select current_setting('server_version_num')::int / 10000 as major, current_user as login,
      sum(live_rows) > 0 as some from freshness`;
    const asked = await runProgram(['sql', '--csv', select], { cwd: folder, env });
    expect(asked).toMatchObject({ code: 0, stdout: `major,login,some\r\n${major},mirror_sql,t\r\n` });
    const without = await runProgram(['sql', 'select 1'], { cwd: folder });
    expect(without.stderr).toContain(`Set MIRROR_PG_BIN to the folder of a PostgreSQL ${major}`);
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0, signal: null });
  });

  it('is never chosen by itself', async () => {
    const server = await begin();
    expect(await ask(server.url, VERSION)).toMatch('18.');
    await server.stop();
    await expect(begin(bin)).rejects.toThrow(/holds a database of PostgreSQL 18 .*unset it if npm/);
  });
});

describe('a database whose texts were sorted by another version of a collation', () => {
  it.each([
    ['of its own', `update pg_database set datcollversion = '0' where datname = 'postgres'`],
    [
      'of an index',
      `create table texts (a text collate "en-x-icu"); create index on texts (a);
       update pg_collation set collversion = '0' where collname = 'en-x-icu'`,
    ],
  ])('is refused, and its server stopped: %s', async (_, change) => {
    const server = await begin();
    // What nothing is sorted by does no harm.
    await rowsAt(server.url, `update pg_collation set collversion = '0' where collname = 'de-x-icu'`);
    await server.stop();
    const again = await begin();
    await rowsAt(again.url, change);
    await again.stop();
    await expect(begin()).rejects.toThrow(
      /was sorted with version 0 of the collation ".+", and this PostgreSQL has .*MIRROR_PG_BIN/,
    );
    expect(await embeddedState(folder)).toBe('stopped');
  });
});
