import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examine } from '../../support/processes/doctor.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';
import { serverUrl } from '../../support/postgres/postgres.ts';
import { ask } from '../../support/postgres/on-connection.ts';

/** Where Debian, Homebrew and PostgreSQL's own packages put it. */
const PSQL = ['/usr/bin/psql', '/usr/local/bin/psql', '/opt/homebrew/bin/psql'].find((path) => existsSync(path));
if (PSQL === undefined) process.stderr.write('psql is not installed; NOT TESTED: doctor --sql\n');

const SCHEMA = `dba_${randomBytes(4).toString('hex')}`;
const [OWNER, READER, DATABASE] = [`${SCHEMA}_daemon`, `${SCHEMA}_sql`, `${SCHEMA}_db`];
/** Passwords as people choose them. */
const WORDS = { owner_password: `o'hara "\\1`, reader_password: 'read$er %2' };

describe.runIf(PSQL !== undefined)('doctor --sql', () => {
  let system: System;
  let superuser: string;
  let script: string;

  beforeAll(async () => {
    system = await createSystem();
    superuser = await serverUrl();
    const { code, stdout } = await system.run(['doctor', '--sql'], {
      DATABASE_URL: `postgres://${OWNER}:hunter-word@db.invalid/${DATABASE}`,
      MIRROR_SCHEMA: SCHEMA,
      MIRROR_API_URL: undefined,
      MIRROR_API_KEY: undefined,
    });
    expect(code).toBe(0);
    expect(stdout).not.toContain('hunter');
    script = join(system.cwd, 'dba.sql');
    await writeFile(script, stdout);
  });
  afterAll(async () => {
    await ask(superuser, `drop database if exists ${DATABASE} with (force)`);
    for (const role of [READER, OWNER, `${SCHEMA}_reader`, `${SCHEMA}_submitter`]) {
      await ask(superuser, `drop role if exists ${role}`);
    }
    await system.close();
  });

  /** Of the superuser, in that database. */
  const at = (database: string): string => Object.assign(new URL(superuser), { pathname: `/${database}` }).href;

  /** Runs the script as a DBA does. */
  const psql = (words: Readonly<Record<string, string>>, url = new URL(superuser)): Promise<unknown> => {
    const password = decodeURIComponent(url.password);
    url.password = '';
    const variables = Object.entries(words).flatMap(([name, word]) => ['-v', `${name}=${word}`]);
    return promisify(execFile)(PSQL ?? '', ['-X', ...variables, '-d', url.href, '-f', script], {
      env: { PGPASSWORD: password },
    });
  };

  const as = (user: string, password: string): string => {
    const url = new URL(at(DATABASE));
    url.username = user;
    url.password = encodeURIComponent(password);
    return url.href;
  };

  const daemon = (): Environment => ({
    DATABASE_URL: as(OWNER, WORDS.owner_password),
    MIRROR_SCHEMA: SCHEMA,
    MIRROR_API_URL: system.sandbox.url,
    MIRROR_API_KEY: system.sandbox.key,
    MIRROR_HTTP_PORT: '0',
  });

  it('makes nothing without passwords', async () => {
    await expect(psql({})).rejects.toThrow(/a password is missing: psql -v owner_password/);
    expect(await ask(superuser, `select from pg_roles where starts_with(rolname, '${SCHEMA}')`)).toEqual([]);
  });

  it('prints what makes all that the daemon needs, and nothing more', async () => {
    await psql(WORDS);
    const rights = `select rolsuper or rolcreaterole or rolcreatedb or rolreplication as more
      from pg_roles where rolname = '${OWNER}'`;
    expect(await ask(superuser, rights)).toEqual([{ more: false }]);
    const env = daemon();
    for (const command of ['migrate', 'sync']) expect(await system.run([command], env)).toMatchObject({ code: 0 });
    expect((await examine({ cwd: system.cwd, env })).wrong).toBe('');
  });

  it('makes a login that reads the mirror, and can do nothing else', async () => {
    const url = as(READER, WORDS.reader_password);
    const [row] = await ask(url, `select count(*)::int as jobs from ${SCHEMA}.research_jobs_live`);
    expect(row).toEqual({ jobs: 300 });
    await ask(url, `select * from ${SCHEMA}.research_jobs_as_of(now())`);
    const settings = `select current_setting('default_transaction_read_only') as read_only,
      current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle,
      rolconnlimit as most from pg_roles where rolname = current_user`;
    expect(await ask(url, settings)).toEqual([{ read_only: 'on', statement: '1min', idle: '1min', most: 20 }]);
    expect(await mayDo(url)).toEqual({
      database: 'CONNECT',
      schemas: `${SCHEMA}: usage`,
      relations: 'select',
      unread: null,
      functions: expect.stringMatching(/^(\w*_(as_of|since), |row_story, )*\w+_(as_of|since)$/) as string,
      others: 0,
      columns: 0,
      groups: `${SCHEMA}_reader`,
    });
    // Whatever a session sets: rights are what bounds it.
    const writes = `begin read write; insert into ${SCHEMA}.sync_log default values`;
    await expect(ask(url, writes)).rejects.toThrow(/permission denied/);
    expect(
      await system.run(['sql', 'select 1 as one from freshness limit 1'], { ...daemon(), DATABASE_URL: url }),
    ).toMatchObject({ code: 0 });
  });

  it('may be run again: it mends what was changed, and takes nothing away', async () => {
    await ask(superuser, `alter role ${READER} reset statement_timeout; alter role ${OWNER} createrole`);
    await psql(WORDS);
    expect(await ask(superuser, `select rolcreaterole from pg_roles where rolname = '${OWNER}'`)).toEqual([
      { rolcreaterole: false },
    ]);
    expect(await ask(as(READER, WORDS.reader_password), 'show statement_timeout')).toEqual([
      { statement_timeout: '1min' },
    ]);
    expect(await system.run(['sync'], daemon())).toMatchObject({ code: 0 });
  });

  it('is run by an administrator of a hosted server, who is no superuser', async () => {
    const schema = `${SCHEMA}_hosted`;
    const [admin, owner, database] = [`${schema}_admin`, `${schema}_owner`, `${schema}_db`];
    const url = `postgres://${owner}@db.invalid/${database}`;
    const { stdout } = await system.run(['doctor', '--sql'], { DATABASE_URL: url, MIRROR_SCHEMA: schema });
    await writeFile(script, stdout);
    await ask(superuser, `create role ${admin} login createrole createdb password 'word'`);
    const hosted = new URL(at('postgres'));
    Object.assign(hosted, { username: admin, password: 'word' });
    try {
      await psql(WORDS, new URL(hosted));
      await psql(WORDS, new URL(hosted));
      const daemon = new URL(at(database));
      Object.assign(daemon, { username: owner, password: encodeURIComponent(WORDS.owner_password) });
      const env = { DATABASE_URL: daemon.href, MIRROR_SCHEMA: schema };
      expect(await system.run(['migrate'], env)).toMatchObject({ code: 0 });
      const reader = Object.assign(new URL(daemon), { username: `${schema}_sql` });
      reader.password = encodeURIComponent(WORDS.reader_password);
      expect(await ask(reader.href, `select count(*)::int as rows from ${schema}.freshness`)).toEqual([{ rows: 0 }]);
    } finally {
      await ask(superuser, `drop database if exists ${database} with (force)`);
      for (const name of ['sql', 'submitter', 'reader', 'owner', 'admin'])
        await ask(superuser, `drop role if exists ${schema}_${name}`);
    }
  });

  it('takes names as odd as they come', async () => {
    const [owner, place] = [`${SCHEMA}o'd"d\\n :x`, `${SCHEMA}d'b"\\n'y'`];
    const url = `postgres://${encodeURIComponent(owner)}@db.invalid/${encodeURIComponent(place)}`;
    const { stdout } = await system.run(['doctor', '--sql'], { DATABASE_URL: url, MIRROR_SCHEMA: SCHEMA });
    await writeFile(script, stdout);
    await psql(WORDS);
    const made = `select datname as place, rolname as owner from pg_database join pg_roles r on r.oid = datdba
      where datname ~ '^${SCHEMA}d''b'`;
    expect(await ask(superuser, made)).toEqual([{ place, owner }]);
    await ask(superuser, `drop database ${pg.escapeIdentifier(place)}`);
    await ask(superuser, `drop role ${pg.escapeIdentifier(owner)}`);
  });

  it('makes a login that reads one account, whatever its name; run again it reads another one', async () => {
    const name = `${SCHEMA}_"o'ne \\1`;
    const [user] = await ask<{ id: string }>(
      as(READER, WORDS.reader_password),
      `select _user_id::text as id from ${SCHEMA}.account`,
    );
    const url = as(encodeURIComponent(name), WORDS.reader_password);
    const jobs = async (account: string): Promise<unknown> => {
      const { code, stdout } = await system.run(['doctor', '--sql', '--reader', name, '--account', account], daemon());
      expect(code).toBe(0);
      await writeFile(script, stdout);
      await psql({ reader_password: WORDS.reader_password }, new URL(at(DATABASE)));
      return (await ask(url, `select count(*)::int as n from ${SCHEMA}.research_jobs_live`))[0]?.['n'];
    };
    try {
      expect(await jobs('1')).toBe(0);
      expect(await jobs(user?.id ?? '')).toBe(300);
      expect((await ask(url, 'show statement_timeout'))[0]).toEqual({ statement_timeout: '1min' });
    } finally {
      const role = pg.escapeIdentifier(name);
      await ask(at(DATABASE), `drop owned by ${role}; drop role ${role}`);
    }
  });

  it.each([
    [
      ['--reader', 'anna'],
      /use --reader and --account together, with --sql: doctor --sql --reader NAME --account USER_ID/,
    ],
    [['--account', '42'], /use --reader and --account together/],
    [['--reader', 'anna', '--account', '4x'], /4x/],
    [['--reader', 'ä'.repeat(32), '--account', '42'], /a login's name must have 1 to 63 bytes/],
  ])('refuses %j', async (args, words) => {
    const { code, stderr, stdout } = await system.run(['doctor', '--sql', ...args], daemon());
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
  });

  it('leaves a superuser alone whom DATABASE_URL names', async () => {
    const { stdout } = await system.run(['doctor', '--sql'], {
      DATABASE_URL: superuser,
      MIRROR_SCHEMA: SCHEMA,
    });
    await writeFile(script, stdout);
    await expect(psql(WORDS)).rejects.toThrow(/is a superuser\. Set another login/);
  });
});

/** All that the session's user may do in the database, as PostgreSQL tells it. */
async function mayDo(url: string): Promise<unknown> {
  const [row] = await ask(
    url,
    `with mine as (select oid, nspname from pg_namespace where nspname !~ '^(pg_|information_schema$)'),
      relations as (select c.oid, c.relname, n.nspname from pg_class c join mine n on n.oid = relnamespace where relkind in ('r', 'p', 'v', 'm', 'f')),
      rights as (select nspname, relname, p.name from relations r, unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p (name)
        where has_table_privilege(r.oid, p.name))
    select
      (select string_agg(name, ', ' order by name) from unnest(array['CONNECT', 'CREATE', 'TEMPORARY']) as name
        where has_database_privilege(current_database(), name)) as database,
      (select string_agg(nspname || ': ' || name, ', ') from mine, unnest(array['usage', 'create']) as name
        where has_schema_privilege(oid, name)) as schemas,
      (select string_agg(distinct name, ', ') from rights) as relations,
      (select string_agg(relname, ', ') from relations where nspname = '${SCHEMA}' and not has_table_privilege(oid, 'select')) as unread,
      (select string_agg(proname, ', ' order by proname) from pg_proc p join mine on mine.oid = pronamespace
        where has_function_privilege(p.oid, 'execute')) as functions,
      (select count(*)::int from rights where nspname <> '${SCHEMA}') as others,
      (select count(*)::int from relations where has_any_column_privilege(oid, 'insert, update, references')) as columns,
      (select string_agg(rolname, ', ') from pg_roles where pg_has_role(oid, 'member') and rolname <> current_user) as groups`,
  );
  return row;
}
