import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest';
import { programVersion } from '../../../src/config/program.ts';
import {
  openDatabase,
  type Database,
  type DatabaseOptions,
  type TransactionBounds,
} from '../../../src/postgres/pool.ts';
import { migrate, MIGRATION_BOUNDS } from '../../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { distributeTo } from './distributed-database.ts';
import { copyTestDatabase, createTestDatabase, type TestDatabase } from '../postgres/postgres.ts';
import { ROOT } from '../rules/source-files.ts';

export const MIGRATIONS = join(ROOT, 'migrations');

export interface MigratedDatabase extends Database {
  readonly url: string;
  /** Closes it and removes the database. */
  drop(): Promise<void>;
}

/** On a busy machine a statement of a test may take longer than the daemon's may. */
const PATIENT: TransactionBounds = { statement: 60_000, idle: 60_000 };

/** As tests do. */
export function openTestDatabase(url: string, more: Partial<DatabaseOptions> = {}): Promise<Database> {
  return openDatabase({ url, schema: 'mirror', program: 'research-mirror tests', bounds: PATIENT, ...more });
}

/** A database of its own with all migrations applied, as `migrate` leaves it. */
export async function createMigratedDatabase(schema = 'mirror'): Promise<MigratedDatabase> {
  return opened(await createMigratedTestDatabase(schema), { schema });
}

/** A database of its own, as `migrate` finds it. */
export async function createEmptyDatabase(more: Partial<DatabaseOptions> = {}): Promise<MigratedDatabase> {
  return opened(await createTestDatabase(), more);
}

/** Opens it; its end removes it. */
export async function opened({ url, drop }: TestDatabase, more: Partial<DatabaseOptions>): Promise<MigratedDatabase> {
  const database = await openTestDatabase(url, more);
  return {
    ...database,
    url,
    drop: async () => {
      await database.close();
      await drop();
    },
  };
}

type Make = () => Promise<MigratedDatabase>;

/** A test's own, with the rows of what it asks in its own words. */
export interface TestedDatabase extends MigratedDatabase {
  rows: <Row = Record<string, unknown>>(text: string) => Promise<Row[]>;
}

/** A database for a file's tests, there while they run. */
export function testDatabase(make: Make = createMigratedDatabase): TestedDatabase {
  return databaseBetween(beforeAll, afterAll, make);
}

/** Another one for each of a file's tests. */
export function databaseForEach(make: Make = createMigratedDatabase): TestedDatabase {
  return databaseBetween(beforeEach, afterEach, make);
}

function databaseBetween(
  before: (begin: () => Promise<void>) => void,
  after: (end: () => Promise<void>) => void,
  make: Make,
): TestedDatabase {
  const database = {} as TestedDatabase;
  database.rows = async <Row>(text: string) => (await database.db.sql<Row>`${sql.raw(text)}`).rows;
  before(async () => void Object.assign(database, await make()));
  after(() => database.drop());
  return database;
}

/** A migrated database of its own, without a connection. */
export function createMigratedTestDatabase(schema = 'mirror'): Promise<TestDatabase> {
  return copyTestDatabase(`migrated_${schema}`, async (url) => {
    await migrateTo(url, schema);
    const { workers } = inject('testServer');
    if (workers.length > 0) await distributeTo(url, schema, workers);
  });
}

/** For a test that bends tables: a database of its own while `work` lasts, in another schema than usual. */
export async function inOwnDatabase(work: (own: MigratedDatabase) => Promise<void>): Promise<void> {
  const own = await createMigratedDatabase('other');
  try {
    await work(own);
  } finally {
    await own.drop();
  }
}

/** Brings the database at `url` to this version. @returns names of the migrations applied */
export async function migrateTo(url: string, schema: string): Promise<readonly string[]> {
  const database = await openTestDatabase(url, { schema, bounds: MIGRATION_BOUNDS });
  try {
    const options = { db: database.db, folder: MIGRATIONS, version: programVersion(), clock: systemClock };
    return (await migrate(options)).applied;
  } finally {
    await database.close();
  }
}
