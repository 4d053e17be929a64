import { CompiledQuery, sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createPool } from '../../../src/postgres/pool.ts';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createTestDatabase } from '../../support/postgres/postgres.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import {
  openTestDatabase,
  createEmptyDatabase,
  testDatabase,
} from '../../support/databases/migrated-database.ts';

const PASSWORD = 'never-to-be-seen';
const open = testDatabase(createEmptyDatabase);

const attempt = (change: (url: URL) => void): Promise<unknown> => {
  const url = new URL(open.url);
  change(url);
  return openTestDatabase(url.href).then(
    () => undefined,
    (error: unknown) => error,
  );
};

describe('opening a database', () => {
  it('fails with the cause and the remedy, without the password', async () => {
    const port = String(await nonEphemeralPort());
    const failures: [(url: URL) => void, new (message: string) => Error, RegExp][] = [
      [(url) => (url.password = PASSWORD), Unusable, /28P01 password authentication failed.*DATABASE_URL/],
      [(url) => (url.pathname = '/nowhere'), Unusable, /3D000.*create the database/],
      [(url) => (url.port = port), DatabaseUnavailable, /can't be reached: connect ECONNREFUSED/],
      [(url) => (url.search = '?sslmode=require'), Unusable, /does not speak TLS.*sslmode/],
    ];
    for (const [change, kind, message] of failures) {
      const error = await attempt(change);
      expect(error).toBeInstanceOf(kind);
      expect(messageOf(error)).toMatch(message);
      expect(messageOf(error)).not.toContain(PASSWORD);
    }
  });

  it('shows the program’s name to the database, and uses libpq’s variables', async () => {
    const url = new URL(open.url);
    const variables = {
      PGHOST: url.hostname,
      PGPORT: url.port,
      PGUSER: url.username,
      PGPASSWORD: url.password,
      PGDATABASE: url.pathname.slice(1),
    };
    const other = await openTestDatabase('postgres://', { variables, program: 'research-mirror another' });
    const { rows } = await other.db
      .sql`select current_setting('application_name') as name, current_database() as database`;
    expect(rows).toEqual([{ name: 'research-mirror another', database: variables.PGDATABASE }]);
    await other.close();
  });
});

describe('an open database', () => {
  it('keeps every digit of bigint and numeric', async () => {
    const { rows } = await open.db.sql`select 9007199254740993 as big, 0.1000000000000000000000001 as exact`;
    expect(rows).toEqual([{ big: '9007199254740993', exact: '0.1000000000000000000000001' }]);
  });

  it('runs transactions at the isolation level that they rely on, whatever the database’s default is', async () => {
    const own = await createTestDatabase();
    const name = sql.id(new URL(own.url).pathname.slice(1));
    await open.db.sql`alter database ${name} set default_transaction_isolation = 'repeatable read'`;
    const database = await openTestDatabase(own.url);
    const isolation = sql<{ level: string }>`select current_setting('transaction_isolation') as level`;
    const { kysely } = database;
    const { rows } = await kysely.transaction().execute((trx) => isolation.execute(trx));
    expect(rows).toEqual([{ level: 'read committed' }]);
    const snapshot = kysely.transaction().setIsolationLevel('serializable').setAccessMode('read only');
    expect((await snapshot.execute((trx) => isolation.execute(trx))).rows).toEqual([
      { level: 'serializable' },
    ]);
    await database.close();
    await own.drop();
  });

  it('lets callers wait longer for a connection in use than connecting may take', async () => {
    const url = new URL(open.url);
    url.searchParams.set('connect_timeout', '2');
    const narrow = await openTestDatabase(url.href, { max: 1 });
    const answers = await Promise.all([
      narrow.db.sql`select pg_sleep(2.2), 'first' as which`,
      narrow.db.sql`select 'second' as which`,
    ]);
    expect(answers.map(({ rows }) => rows[0])).toMatchObject([{ which: 'first' }, { which: 'second' }]);
    await narrow.close();
  });

  it('serves urgent callers before queued ones, with the same connections', async () => {
    const narrow = await openTestDatabase(open.url, { max: 1 });
    const served: string[] = [];
    const ask = async (who: 'db' | 'urgent', name: string): Promise<number> => {
      const { rows } = await narrow[who].sql<{ pid: number }>`select pg_backend_pid() as pid`;
      served.push(name);
      return rows[0]?.pid ?? NaN;
    };
    const first = ask('db', 'first');
    await new Promise((resolve) => setImmediate(resolve));
    const pids = await Promise.all([
      first,
      ask('db', 'second'),
      ask('urgent', 'urgent'),
      ask('urgent', 'next urgent'),
    ]);
    expect(served).toEqual(['first', 'urgent', 'next urgent', 'second']);
    expect(new Set(pids).size).toBe(1);
    await narrow.close();
  });

  it('replaces connections that the server has ended', async () => {
    const end = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await Promise.all(Array.from({ length: 5 }, () => open.db.sql`select 1`));
    await end.execute(open.kysely);
    await expect(
      open.kysely
        .transaction()
        .execute((trx) => sql`select pg_terminate_backend(pg_backend_pid())`.execute(trx)),
    ).rejects.toThrow(DatabaseUnavailable);
    // A connection whose end was not noticed fails once, with an error that may pass.
    const answer = (): Promise<unknown> =>
      open.db.sql`select 1 as one`.then(
        ({ rows }) => rows[0],
        (error: unknown) => error,
      );
    await expect.poll(answer).toEqual({ one: 1 });
  });

  it('gives up a statement without an answer, and its connection with it', async () => {
    const hasty = await openTestDatabase(open.url, { max: 1, bounds: { statement: 1, idle: 0 } });
    // Outside of a transaction no statement_timeout applies: only the client's own bound.
    await expect(hasty.db.sql`select pg_sleep(60)`).rejects.toThrow(DatabaseUnavailable);
    expect((await hasty.db.sql`select 2 as two`).rows).toEqual([{ two: 2 }]);
    await hasty.close();
  });
});

it('an abandoned session ends at the server as well, with its locks, without a time-out of the server’s', async () => {
  await open.db.sql`create table held (id int)`;
  const { host, port, user, password, database: name } = new pg.Client(open.url);
  const settings = { host, port, user, password: password ?? undefined, database: name };
  const pool = createPool({ ...settings, max: 2, query_timeout: 1_500 });
  const holder = new pg.Client(open.url);
  await holder.connect();
  await holder.query('begin; lock table held in access exclusive mode');
  const stuck = await pool.connect();
  stuck.begin('read committed', 'set local lock_timeout = 0');
  const asks = (text: string): Promise<unknown> => stuck.executeQuery(CompiledQuery.raw(text));
  await asks('select pg_advisory_xact_lock(4711)');
  await expect(asks('select * from held')).rejects.toThrow(/no answer came in time/);
  stuck.release();
  // Else it has the lock for as long as it waits for the table.
  await eventually('its lock to be free', async () => {
    const { rows } = await holder.query<{ held: boolean }>(
      `select exists (select from pg_locks where locktype = 'advisory' and objid = 4711) as held`,
    );
    return rows[0]?.held === false;
  });
  await holder.end();
  await pool.end();
});
