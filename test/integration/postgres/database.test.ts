import { CompiledQuery } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createPool } from '../../../src/postgres/pool.ts';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { openTestDatabase, createEmptyDatabase, testDatabase } from '../../support/databases/migrated-database.ts';

const PASSWORD = 'never-to-be-seen';
const open = testDatabase(createEmptyDatabase);
const freePort = String(await nonEphemeralPort());

describe('opening a database', () => {
  it.each([
    [{ password: PASSWORD }, Unusable, /28P01 password authentication failed.*DATABASE_URL/],
    [{ pathname: '/nowhere' }, Unusable, /3D000.*Create the database/],
    [{ port: freePort }, DatabaseUnavailable, /can't be reached: connect ECONNREFUSED/],
    [{ search: '?sslmode=require' }, Unusable, /does not support TLS.*sslmode/],
  ])('with %j fails with the cause and the remedy, without the password', async (part, kind, message) => {
    const url = Object.assign(new URL(open.url), part);
    const error = await openTestDatabase(url.href).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(kind);
    expect(messageOf(error)).toMatch(message);
    expect(messageOf(error)).not.toContain(PASSWORD);
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
    expect(await open.rows('select 9007199254740993 as big, 0.1000000000000000000000001 as exact')).toEqual([
      { big: '9007199254740993', exact: '0.1000000000000000000000001' },
    ]);
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
    await new Promise(setImmediate);
    const later = [ask('db', 'second'), ask('urgent', 'urgent'), ask('urgent', 'next urgent')];
    const pids = await Promise.all([first, ...later]);
    expect(served).toEqual(['first', 'urgent', 'next urgent', 'second']);
    expect(new Set(pids).size).toBe(1);
    await narrow.close();
  });

  it('replaces connections that the server has ended', async () => {
    await Promise.all(Array.from({ length: 5 }, () => open.rows('select 1')));
    await open.rows(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
    const ending = open.db.transaction((trx) => trx.sql`select pg_terminate_backend(pg_backend_pid())`);
    await expect(ending).rejects.toThrow(DatabaseUnavailable);
    // A connection whose end was not noticed fails once, with an error that may pass.
    const answer = () => open.rows('select 1 as one').catch((error: unknown) => error);
    await expect.poll(answer).toEqual([{ one: 1 }]);
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
  await open.rows('create table held (id int)');
  const { host, port, user, password, database } = new pg.Client(open.url);
  const settings = { host, port, user, password: password ?? undefined, database };
  const pool = createPool({ ...settings, max: 2, query_timeout: 1_500 });
  const holder = new pg.Client(open.url);
  await holder.connect();
  await holder.query('begin; lock table held in access exclusive mode');
  const stuck = await pool.connect();
  stuck.begin('read committed', 'set local lock_timeout = 0');
  const asks = (text: string) => stuck.executeQuery(CompiledQuery.raw(text));
  await asks('select pg_advisory_xact_lock(4711)');
  await expect(asks('select * from held')).rejects.toThrow(/no answer came in time/);
  stuck.release();
  // Else it has the lock for as long as it waits for the table.
  await eventually('its lock to be free', async () => {
    const held = `select from pg_locks where locktype = 'advisory' and objid = 4711`;
    return (await holder.query(held)).rowCount === 0;
  });
  await holder.end();
  await pool.end();
});
