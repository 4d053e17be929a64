import { Db } from './db.ts';
import {
  Kysely,
  DummyDriver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type QueryResult,
} from 'kysely';
import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../test/support/databases/migrated-database.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { migrate, pendingMigrations, splitStatements } from './run-migrations.ts';

/** A server that says what it is, whatever it is asked. */
class OldServer extends DummyDriver {
  readonly asked: string[] = [];

  override acquireConnection(): Promise<DatabaseConnection> {
    const connection = {
      executeQuery: <R>({ sql }: { readonly sql: string }): Promise<QueryResult<R>> => {
        this.asked.push(sql);
        return Promise.resolve({ rows: [{ number: 140_023, version: '14.23', encoding: 'UTF8' } as R] });
      },
      streamQuery: () => {
        throw new Error('nothing is streamed');
      },
    };
    return Promise.resolve(connection as unknown as DatabaseConnection);
  }
}

it('a PostgreSQL that is too old is refused, and asked nothing else', async () => {
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
  const refusal = 'the database is PostgreSQL 14.23: research-mirror needs 15 or newer. Nothing was touched.';
  await expect(migrate(options)).rejects.toThrow(refusal);
  await expect(pendingMigrations(options)).rejects.toThrow(refusal);
  expect(driver.asked).toHaveLength(2);
  expect(driver.asked.join()).not.toMatch(/create|insert|update|delete/);
});

it('cuts SQL at semicolons that end a statement, and at no other', () => {
  const parts = [
    `create table a (b text default ';', "c;d" int)`,
    'do $$ begin execute $view$ select 1; $view$; end $$',
    `comment on table a /* here; */ is 'it''s; so'`,
  ];
  const text = `-- first; of all\n${parts.join(';\n-- then;\n')};\n-- the end;\n`;
  expect(splitStatements(text)).toEqual(
    parts.map((statement) => ({ at: text.indexOf(statement), statement })),
  );
});
