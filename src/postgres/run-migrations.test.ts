import { Db } from './db.ts';
import {
  Kysely,
  DummyDriver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
} from 'kysely';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../test/support/databases/migrated-database.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';
import {
  type AppliedMigration,
  migrate,
  pendingAfter,
  pendingMigrations,
  readMigrations,
  splitStatements,
} from './run-migrations.ts';

/** A server that answers every statement with its version. */
class OldServer extends DummyDriver {
  readonly asked: string[] = [];

  override async acquireConnection(): Promise<DatabaseConnection> {
    const executeQuery = async ({ sql }: { readonly sql: string }) => {
      this.asked.push(sql);
      return { rows: [{ number: 140_023, version: '14.23', encoding: 'UTF8' }] };
    };
    return { executeQuery } as unknown as DatabaseConnection;
  }
}

it('migrate refuses a PostgreSQL that is too old, and sends it nothing else', async () => {
  const driver = new OldServer();
  const kysely = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (inner) => new PostgresIntrospector(inner),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  const options = { db: new Db(kysely, 'mirror'), folder: MIGRATIONS, version: '0.2.0', clock: systemClock };
  const refusal = 'the database is PostgreSQL 14.23, but research-mirror needs 15 or newer. Nothing was touched.';
  await expect(migrate(options)).rejects.toThrow(refusal);
  await expect(pendingMigrations(options)).rejects.toThrow(refusal);
  expect(driver.asked).toHaveLength(2);
  expect(driver.asked.join()).not.toMatch(/create|insert|update|delete/);
});

it('splitStatements splits SQL at semicolons that end a statement, and at no other', () => {
  const parts = [
    `create table a (b text default ';', "c;d" int)`,
    'do $$ begin execute $view$ select 1; $view$; end $$',
    `comment on table a /* here; */ is 'it''s; so'`,
  ];
  const text = `-- first; of all\n${parts.join(';\n-- then;\n')};\n-- the end;\n`;
  expect(splitStatements(text)).toEqual(parts.map((statement) => ({ at: text.indexOf(statement), statement })));
});

const folder = folderForEach();
beforeEach(async () => {
  await file('0001_first.sql', 'select 1;');
});

const file = (name: string, text: string): Promise<void> => writeFile(join(folder.path, name), text);

it('a migration states the oldest program that may run on what it makes', async () => {
  await file('0004_more.sql', '-- More.\n-- oldest program: 0.2.0\nselect 2;');
  expect(await readMigrations(folder.path)).toMatchObject([
    { name: '0001_first', oldestProgram: null },
    { name: '0004_more', oldestProgram: '0.2.0' },
  ]);
});

describe('a database that a newer program has migrated', () => {
  const pending = async (version: string, ...applied: Omit<AppliedMigration, 'checksum'>[]): Promise<string[]> => {
    const all = await readMigrations(folder.path);
    const known = all.map(({ name, checksum, oldestProgram }) => ({ name, checksum, oldestProgram }));
    const added = applied.map((each) => ({ ...each, checksum: 'x' }));
    return pendingAfter([...known.slice(0, 1), ...added], all, 'mirror', version).map(({ name }) => name);
  };
  const later = { name: '0009_later', oldestProgram: '0.2.0' };

  it.each([
    ['0.2.0', ['0.2.0']],
    ['1.0.0', ['0.2.0']],
    ['0.10.0', ['0.2.0']],
    ['1.0.0', ['0.9.9']],
    ['0.1.9', ['0.2.0'], '0010_later (for 0.2.0 and later)'],
    ['0.2.0', ['0.10.0'], '0010_later (for 0.10.0 and later)'],
    ['0.9.9', ['1.0.0'], '0010_later (for 1.0.0 and later)'],
    ['1.0.1', ['1.0.2'], '0010_later (for 1.0.2 and later)'],
    ['0.2.0', ['0.2.0', '0.3.0'], '0011_later (for 0.3.0 and later)'],
    ['9.0.0', [null], '0010_later'],
  ])(
    'accepts %s where later migrations allow %j and what is newer, or names the one: %s',
    async (version, oldest, named = '') => {
      const later = oldest.map((oldestProgram, at) => ({ name: `001${at}_later`, oldestProgram }));
      const asked = pending(version, ...later);
      if (named === '') await expect(asked).resolves.toEqual([]);
      else await expect(asked).rejects.toThrow(`has ${named}. Nothing was touched`);
    },
  );

  it('still gets this program’s migrations that it lacks', async () => {
    await file('0004_more.sql', '-- oldest program: 0.2.0\nselect 2;');
    await expect(pending('0.2.0', later)).resolves.toEqual(['0004_more']);
  });

  it('is refused if another migration has the number of one of ours', async () => {
    await file('0009_ours.sql', '-- oldest program: 0.2.0\nselect 2;');
    await expect(pending('0.2.0', later)).rejects.toThrow(
      '0009_later of schema "mirror" was applied with another text',
    );
  });
});
