import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createReaderLogin, type ReaderLogin } from '../support/postgres/reader-login.ts';
import { makeFolder, runProgram, startProgram, type Outcome } from '../support/processes/program.ts';
import { createEmptyDatabase, testDatabase } from '../support/databases/migrated-database.ts';

const folder = makeFolder();
const cwd = folder.path;
const database = testDatabase(createEmptyDatabase);
const env = (more: Record<string, string> = {}): Record<string, string> => ({
  DATABASE_URL: database.url,
  ...more,
});
const run = (...args: string[]): Promise<Outcome> => runProgram(args, { cwd, env: env() });

afterAll(() => folder.remove());

describe('migrate', () => {
  it('tells that a database is behind, mends it, and tells that it is not', async () => {
    expect(await run('migrate', '--check')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('is behind by') as string,
    });
    const status = await run('status', '--json');
    expect(status.code).toBe(1);
    expect(JSON.parse(status.stdout)).toMatchObject({
      healthy: false,
      problems: [{ cause: 'database_behind', remedy: 'run "research-mirror migrate"' }],
    });
    const done = await run('migrate', '--json');
    expect(done.code).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({ schema: 'mirror', pending: [] });
    expect(await run('migrate', '--check')).toMatchObject({ code: 0 });
  });
});

describe('sql', () => {
  let reader: ReaderLogin;
  beforeAll(async () => {
    reader = await createReaderLogin(database.url);
  });
  afterAll(() => reader.drop());
  const asReader = (): { readonly cwd: string; readonly env: Record<string, string> } => ({
    cwd,
    env: env({ DATABASE_URL: reader.url }),
  });
  const run = (...args: string[]): Promise<Outcome> => runProgram(args, asReader());

  it('prints a table, found without the schema’s name', async () => {
    const { code, stdout, stderr } = await run('sql', "select collection, field from columns where field = 'email'");
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe('collection  field\n──────────  ─────\naccount     email\n(1 row)\n');
  });

  it('prints nothing but JSON with --json, every digit kept', async () => {
    const { code, stdout } = await run(
      'sql',
      '--json',
      `select 9007199254740993 as n, '{"a": [1]}'::jsonb as j, null as nil, true as b, 1 as n, 'x"' as t`,
    );
    expect(code).toBe(0);
    expect(stdout).toContain('"n":9007199254740993,');
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ j: { a: [1] }, nil: null, b: true, n_2: 1, t: 'x"' }],
    });
    expect((await run('sql', '--json', 'select 1 where false')).stdout).toBe('{"rows":[]}\n');
  });

  it('prints CSV with --csv: NULL empty, an empty text quoted, digits and line breaks as they are', async () => {
    const { code, stdout, stderr } = await run(
      'sql',
      '--csv',
      `select 12345678901234567890.10 as n, null as nil, '' as none, e'a "b",\n' as "t,t" from generate_series(1, 2)`,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const row = '12345678901234567890.10,,"","a ""b"",\n"\r\n';
    expect(stdout).toBe(`n,nil,none,"t,t"\r\n${row}${row}`);
    expect((await run('sql', '--csv', 'select 1 as n where false')).stdout).toBe('n\r\n');
  });

  it('prints a line for each column with --vertical', async () => {
    const { stdout } = await run('sql', '--vertical', "select 1 as n, 'x' as longer");
    expect(stdout).toBe('─[ 1 ]───\nn       1\nlonger  x\n(1 row)\n');
  });

  it('lets the server wait for a slow reader, and loses nothing', async () => {
    const text = "select repeat('x', 10000) as x, 'to be read slowly' as y from generate_series(1, 20000)";
    const running = startProgram(['sql', '--csv', text], asReader());
    await running.until('x,y');
    running.child.stdout.pause();
    // Who reads on regardless has everything in memory long before that, and the server is done.
    await eventually('the server waiting', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where query like '%to be read slowly%' and wait_event = 'ClientWrite' and pid <> pg_backend_pid()
          and clock_timestamp() - query_start > interval '3 seconds'`.execute(database.kysely);
      return rows.length === 1;
    });
    running.child.stdout.resume();
    const { code, stdout } = await running.ended;
    expect({ code, lines: stdout.split('\r\n').length }).toEqual({ code: 0, lines: 20_002 });
  });

  it('shows where a statement is wrong, and ends with 1', async () => {
    const { code, stdout, stderr } = await run('sql', 'select *\nfrom  nowhere');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('relation "nowhere" does not exist');
    expect(stderr).toContain('line 2: from  nowhere\n              ^\n');
  });

  it.each([
    ['delete from sync_log', 'read-only transaction'],
    ['commit; delete from sync_log', 'more than one statement; run one at a time'],
    ['set transaction read write', 'must be set before any query'],
    ["select set_config('transaction_read_only', 'off', true)", 'must be set before any query'],
    ['do $$ begin set transaction read write; delete from mirror.sync_log; end $$', 'must be set before any query'],
  ])('refuses to write: %s', async (statement, message) => {
    const { code, stderr } = await run('sql', statement);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it('gives up after --timeout, and ends with 3', async () => {
    const { code, stderr } = await run('sql', 'select pg_sleep(60)', '--timeout', '200ms');
    expect(code).toBe(3);
    expect(stderr).toContain('longer than 0.2 s');
  });

  it('stops the statement at the server when it is interrupted, and ends with 130', async () => {
    const running = startProgram(['sql', "select pg_sleep(60), 'to be interrupted'"], asReader());
    await activeStatements("%'to be interrupted'%", 1);
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130 });
    await activeStatements("%'to be interrupted'%", 0);
  });

  it('ends quietly as soon as its answer is no longer read', async () => {
    const running = startProgram(['sql', '--json', 'select generate_series(1, 100000000)'], asReader());
    await running.until('[\n{');
    running.child.stdout.destroy();
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('status', () => {
  it('is not healthy before anything was mirrored', async () => {
    const { code, stdout } = await run('status');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^NOT HEALTHY .*\n {2}problem: no account has been mirrored yet/);
  });

  it('is healthy when the polls are not late, and says what is mirrored', async () => {
    await sql`insert into mirror_sync.account (_user_id, created_at) values (42, now())`.execute(database.kysely);
    await sql`
      insert into mirror._collections (_user_id, collection, live_rows, polled_at, next_poll_at, state)
      values (42, 'lists', 3, now(), now(), 'current')`.execute(database.kysely);
    const { code, stdout, stderr } = await run('status', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      healthy: true,
      problems: [],
      notes: ['no daemon is running: the mirror stays as it is'],
      accounts: [
        {
          userId: '42',
          collections: [{ collection: 'lists', liveRows: 3, polledAt: expect.any(String) as string }],
        },
      ],
    });
    expect((await run('status')).stdout).toMatch(/lists +current +3 +\d+ s ago +not yet/);
  });
});

/** Waits until `count` other backends run a statement like `pattern`. */
function activeStatements(pattern: string, count: number): Promise<boolean> {
  return eventually(`${count} statements like it`, async () => {
    const { rows } = await sql`select from pg_stat_activity
      where state = 'active' and pid <> pg_backend_pid() and query like ${pattern}`.execute(database.kysely);
    return rows.length === count;
  });
}
