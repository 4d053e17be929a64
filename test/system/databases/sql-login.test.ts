import { existsSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { migrateTo } from '../../support/databases/migrated-database.ts';
import { removeTestServer, startTestServer } from '../../support/postgres/postgres.ts';
import { makeFolder, runProgram } from '../../support/processes/program.ts';
import { createReaderLogin } from '../../support/postgres/reader-login.ts';

const folder = makeFolder();
const dataDir = join(folder.path, 'data');
/** Where the server's own user could write. */
const open = join(folder.path, 'open');
let server: EmbeddedServer;
let superuser: pg.Client;

beforeAll(async () => {
  await chmod(folder.path, 0o755);
  await mkdir(dataDir);
  await mkdir(open);
  await chmod(open, 0o777);
  server = await startTestServer(dataDir, { settings: { wal_level: 'replica', max_wal_senders: '2' } });
  await migrateTo(server.url, 'mirror');
  superuser = new pg.Client({ connectionString: server.url });
  await superuser.connect();
  await ask(
    `insert into mirror_sync.account (_user_id, created_at) values (7, now()); create role replicating replication`,
  );
  // Makes its login.
  expect(await run('select 1')).toMatchObject({ code: 0, stderr: '' });
});
afterAll(async () => {
  await superuser.end();
  await server.stop();
  await removeTestServer(dataDir);
  folder.remove();
});

const ask = async (text: string): Promise<unknown> => (await superuser.query(text)).rows;

const run = (statement: string, env: Record<string, string> = {}) =>
  runProgram(['sql', statement], { cwd: folder.path, env });

/** What a statement could have left behind in the server. */
const TRACES = `select pg_conf_load_time() as loaded, (select count(*) from pg_replication_slots) as slots,
  (select count(*) from pg_largeobject_metadata) as objects, (select count(*) from mirror.submissions) as submissions,
  (select count(*) from pg_roles) as roles, (select count(*) from pg_class) as relations,
  (select count(*) from pg_locks where locktype = 'advisory' and objid = 42) as locks`;

const UNDO_ROLE = `perform set_config('role', 'none', true);`;

const HUGE = `repeat('x', 100 * 1024 * 1024)`;

it.each([
  [[`select ${HUGE} as value`]],
  [['--csv', `select ${HUGE} as value`]],
  [['--json', `select ${HUGE} as value`]],
  [[`copy (select ${HUGE}) to stdout`]],
])('sql refuses a row that would not fit into memory before it holds it: %j', async (args) => {
  const { code, stdout, stderr } = await runProgram(['sql', ...args], { cwd: folder.path });
  expect([code, stdout.includes('xxx')]).toEqual([1, false]);
  expect(stderr).toMatch(/a row of the answer has 10\d MiB; the limit is 64 MiB \(54000\)/);
  expect(stderr).toContain('hint: select fewer columns');
});

describe('sql on the embedded server', () => {
  it.each([
    [`copy (select 1) to program 'touch ${open}/program'`, 'permission denied to COPY to or from an external program'],
    [`copy (select 1) to '${open}/file'`, 'permission denied to COPY to a file'],
    [
      `do $$ begin ${UNDO_ROLE} execute 'copy (select 1) to program ''touch ${open}/undone'''; end $$`,
      'permission denied to COPY',
    ],
    [`do $$ begin ${UNDO_ROLE} perform pg_reload_conf(); end $$`, 'permission denied for function pg_reload_conf'],
    [`select pg_read_file('postmaster.pid')`, 'permission denied for function pg_read_file'],
    [`select pg_create_physical_replication_slot('kept')`, 'permission denied to use replication slots'],
    [`select pg_reload_conf()`, 'permission denied for function pg_reload_conf'],
    [
      `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()`,
      'permission denied to terminate process',
    ],
    [`set role postgres`, 'permission denied to set role'],
    [`set session authorization postgres`, 'permission denied to set session authorization'],
    [`select lo_import('/etc/hostname')`, 'permission denied for function lo_import'],
    [`select lo_create(0)`, 'read-only transaction'],
    [`select mirror.submit('research', '{}')`, 'permission denied for function submit'],
    [`do $$ begin commit; perform mirror.submit('research', '{}'); end $$`, 'invalid transaction termination'],
    [`select * from mirror_sync.registration`, 'permission denied for schema mirror_sync'],
    [`select rolpassword from pg_authid`, 'permission denied for table pg_authid'],
    [`alter role mirror_sql superuser`, 'read-only transaction'],
    [`create temp table t ()`, 'read-only transaction'],
    [`load '/tmp/evil.so'`, 'access to library "/tmp/evil.so" is not allowed'],
  ])('can’t reach beyond reading: %s', async (statement, message) => {
    const before = await ask(TRACES);
    const { code, stdout, stderr } = await run(statement);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(await ask(TRACES)).toEqual(before);
    for (const name of ['program', 'file', 'undone']) expect(existsSync(join(open, name))).toBe(false);
  });

  it('is a login of its own, bounded, whose password other users can’t read', async () => {
    const { code, stdout } = await run(
      `select session_user, current_user, current_setting('statement_timeout') as timeout, pg_try_advisory_lock(42) as locked from freshness right join (values (1)) as one on true`,
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/mirror_sql +mirror_sql +1min +t/);
    expect(await ask(TRACES)).toMatchObject([{ locks: '0' }]);
    const rolconfig = ['default_transaction_read_only=on', 'statement_timeout=60s'];
    expect(
      await ask(`select rolconnlimit, rolconfig, array(select roleid::regrole::text from pg_auth_members where member = r.oid) as groups
        from pg_roles r where rolname = 'mirror_sql'`),
    ).toEqual([{ rolconnlimit: 20, rolconfig, groups: ['mirror_reader'] }]);
    expect((await stat(join(dataDir, 'pg18-sql-password'))).mode & 0o777).toBe(0o600);
  });

  it('is made again where it was dropped, or does not know its password any more', async () => {
    await ask(`alter role mirror_sql password 'another'`);
    expect(await run('select 1')).toMatchObject({ code: 0 });
    await ask('drop role mirror_sql');
    const outcomes = await Promise.all([run('select 1'), run('select 1')]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ code: 0, stderr: '' })));
  });

  it('is not used while it has been given more than reading', async () => {
    await ask('grant pg_read_server_files to mirror_sql; grant insert (state) on mirror.submissions to mirror_sql');
    const { code, stdout, stderr } = await run('select 1');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('can write tables of the mirror, is a member of pg_read_server_files');
    await ask(
      'revoke pg_read_server_files from mirror_sql; revoke insert (state) on mirror.submissions from mirror_sql',
    );
    expect(await run('select 1')).toMatchObject({ code: 0 });
  });

  it('refuses copy … to stdout, which answers no rows', async () => {
    for (const given of ['', 'with (format csv)']) {
      const { code, stdout, stderr } = await run(`copy (select 1 as n) to stdout ${given}`);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('--csv prints CSV')]);
    }
    const json = await runProgram(['sql', '--json', 'copy (select 1 as n) to stdout'], { cwd: folder.path });
    expect(json).toMatchObject({ code: 1, stderr: expect.stringContaining('use SELECT') as string });
  });
});

it.each([
  ['a superuser', '', 'is a superuser'],
  ['who owns the tables', 'grant table_owner to %', 'can write tables of the mirror, owns tables of the mirror'],
  ['who may submit', 'grant mirror_submitter to %', 'can call cancel_submission, can call submit'],
  ['who may make roles', 'alter role % createrole', 'can create roles'],
  ['who may become somebody who replicates', 'grant replicating to % with inherit false', 'can replicate'],
  ['who sees the daemon’s state', 'grant usage on schema mirror_sync to %', 'can use the schema mirror_sync'],
])('sql with DATABASE_URL runs nothing as %s, and says how it would', async (_, grant, reason) => {
  const login = await createReaderLogin(server.url);
  const owns = grant.includes('owner');
  if (owns) await ask(`create role table_owner; alter table mirror.lists owner to table_owner`);
  await ask(grant.replace('%', login.name));
  const { code, stdout, stderr } = await run('select 1', {
    DATABASE_URL: grant === '' ? server.url : login.url,
  });
  if (owns) await ask(`alter table mirror.lists owner to postgres; drop role table_owner`);
  await login.drop();
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(
    `nothing was run: sql needs a login that can only read, but the database's user ${reason}. `,
  );
  expect(stderr).toContain(`create role mirror_sql login password '…' connection limit 20 in role mirror_reader;`);
});
