import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPgbouncerTested, startPgbouncer } from '../../support/databases/pgbouncer.ts';
import {
  examine,
  ran,
  settingOf,
  type DoctorSetting,
  type Examination,
} from '../../support/processes/doctor.ts';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';
import { createTestDatabase, type TestDatabase } from '../../support/postgres/postgres.ts';
import { ask as rowsAt } from '../../support/postgres/on-connection.ts';

/** A schema whose group roles no other test makes. */
const SCHEMA = `doctor_${randomBytes(4).toString('hex')}`;
const OWNER = `${SCHEMA}_owner`;
let system: System;
let database: TestDatabase;
const more: TestDatabase[] = [];

beforeAll(async () => {
  system = await createSystem();
  database = await createTestDatabase();
  await ask(`create role ${OWNER} login password 'first'; grant create on database ${nameOf(database.url)} to ${OWNER};
    create role ${SCHEMA}_reader nologin; create role ${SCHEMA}_submitter nologin`);
  await expect(system.run(['migrate'], asOwner())).resolves.toMatchObject({ code: 0 });
});
afterAll(async () => {
  await Promise.all(more.map((each) => each.drop()));
  await ask(`drop owned by ${OWNER} cascade`);
  for (const role of ['reader', 'submitter', 'owner']) await ask(`drop role if exists ${SCHEMA}_${role}`);
  await database.drop();
  await system.close();
});

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

const ask = (text: string): Promise<unknown[]> => rowsAt(database.url, text);

/** Environment of the daemon's login, which may make neither roles nor databases. */
function asOwner(env: Environment = {}): Environment {
  const url = new URL(database.url);
  url.username = OWNER;
  url.password = 'first';
  return { DATABASE_URL: url.href, MIRROR_SCHEMA: SCHEMA, ...env };
}

const setting = (env: Environment = {}): DoctorSetting => settingOf(system, { ...asOwner(), ...env });

/** Breaks it, expects one check to say so, does what it prints, and gives what is found then: nothing. */
async function mendedBySql(
  check: string,
  state: 'broken' | 'warning',
  words: string | RegExp,
): Promise<Examination> {
  const found = await examine(setting());
  expect(found.in(state)).toEqual([check]);
  expect(found.code).toBe(state === 'broken' ? 1 : 0);
  expect(found.the(check).found).toMatch(words);
  await ran(found.the(check), database.url);
  const mended = await examine(setting());
  expect(mended.in('broken').concat(mended.in('warning'))).toEqual([]);
  return mended;
}

describe('doctor says the cause and the remedy of', () => {
  it('nothing, where the daemon’s login has what it needs', async () => {
    const found = await examine(setting());
    expect(found.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(found.code).toBe(0);
  });

  it('an encoding that can’t hold every text', async () => {
    const other = await createTestDatabase('SQL_ASCII');
    more.push(other);
    const url = new URL(String(asOwner()['DATABASE_URL']));
    url.pathname = new URL(other.url).pathname;
    const found = await examine(setting({ DATABASE_URL: url.href }));
    expect(found.in('broken')).toEqual(['server']);
    expect(found.the('server').found).toContain("the database's encoding is SQL_ASCII");
  });

  it('a right to make schemas that was taken away, where one has still to be made', async () => {
    await ask(`revoke create on database ${nameOf(database.url)} from ${OWNER}`);
    expect(await examine(setting())).toMatchObject({ code: 0 });
    const found = await examine(setting({ MIRROR_SCHEMA: `${SCHEMA}_more` }));
    expect(found.code).toBe(1);
    expect(found.the('rights').found).toContain('may make no schema in the database');
    await ran(found.the('rights'), database.url);
    expect((await examine(setting({ MIRROR_SCHEMA: `${SCHEMA}_more` }))).in('broken')).not.toContain(
      'rights',
    );
  });

  it('tables that belong to another role', async () => {
    await ask(`alter table ${SCHEMA}.lists owner to postgres; alter view ${SCHEMA}.freshness owner to postgres;
      alter table ${SCHEMA}_sync.scope owner to postgres`);
    expect(
      await mendedBySql('rights', 'broken', /does not own doctor_\w+\.freshness \(of postgres\)/),
    ).toMatchObject({ code: 0 });
  });

  it('tables that may not be written', async () => {
    await ask(`revoke insert, update on ${SCHEMA}.lists from ${OWNER}`);
    expect(await mendedBySql('rights', 'broken', /may not write doctor_\w+\.lists/)).toMatchObject({
      code: 0,
    });
  });

  it('nothing, where the operator has tables of their own in the schema', async () => {
    await ask(`create table ${SCHEMA}.my_notes (note text)`);
    expect(await examine(setting())).toMatchObject({ code: 0 });
    await ask(`drop table ${SCHEMA}.my_notes`);
  });

  it('group roles that are missing, where the login may make none', async () => {
    await ask(`drop owned by ${SCHEMA}_submitter; drop role ${SCHEMA}_submitter`);
    expect(await mendedBySql('roles', 'warning', /there is no doctor_\w+_submitter/)).toMatchObject({
      code: 0,
    });
  });

  it('a setting of the login with which the program can’t work: the SQL that it says, and no other remedy', async () => {
    await ask(`alter role ${OWNER} set search_path = mirror, pg_catalog`);
    const found = await examine(setting());
    expect(found.in('broken')).toEqual(['server']);
    const said = /say "(alter role [^"]* = "\$user", public)", then/.exec(found.the('server').found);
    expect(found.the('server').remedy).toBeNull();
    await ask(said?.[1] ?? '');
    expect(await examine(setting())).toMatchObject({ code: 0 });
    await ask(`alter role ${OWNER} reset search_path`);
  });

  it('a database that a newer program has migrated', async () => {
    const migrations = `${SCHEMA}_sync.migration`;
    await ask(`insert into ${migrations} (name, checksum, applied_at) values ('9999_later', '', now())`);
    const found = await examine(setting());
    expect(found).toMatchObject({ code: 1 });
    expect(found.in('broken')).toEqual(['migrations']);
    expect(found.the('migrations').found).toMatch(/newer than this program.* run a newer version/);
    await ask(`delete from ${migrations} where name = '9999_later'`);
    expect(await examine(setting())).toMatchObject({ code: 0 });
  });

  it('a database that is behind: the command brings it up', async () => {
    const empty = await createTestDatabase();
    more.push(empty);
    const behind = setting({ DATABASE_URL: empty.url, MIRROR_SCHEMA: 'mirror' });
    const found = await examine(behind);
    expect(found.the('migrations')).toMatchObject({ state: 'warning', command: 'research-mirror migrate' });
    expect(await system.run(['migrate'], behind.env)).toMatchObject({ code: 0 });
    expect((await examine(behind)).the('migrations')).toMatchObject({ state: 'ok' });
  });
});

describe('doctor beside a running daemon', () => {
  it('finds all fine', async () => {
    const daemon = await system.daemon({ ...asOwner(), MIRROR_HTTP_PORT: '0' });
    const found = await examine(setting({ MIRROR_HTTP_PORT: new URL(daemon.statusUrl).port }));
    expect(found.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(found.code).toBe(0);
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});

describe.runIf(isPgbouncerTested())('doctor through pgbouncer', () => {
  it('notices a transaction pooler, and names the way around it', async () => {
    const pooler = await startPgbouncer(String(asOwner()['DATABASE_URL']));
    try {
      const through = setting({ DATABASE_URL: pooler.url, PGPASSWORD: 'first' });
      const found = await examine(through);
      expect(found).toMatchObject({ code: 0 });
      expect(found.in('warning')).toEqual(['pooler']);
      expect(found.the('pooler').remedy).toContain('DATABASE_URL_DIRECT');
      const direct = { DATABASE_URL_DIRECT: String(asOwner()['DATABASE_URL']) };
      const around = await examine({ ...through, env: { ...through.env, ...direct } });
      expect(around.checks.filter(({ state }) => state !== 'ok')).toEqual([]);
      expect(around.the('pooler').found).toMatch(/^LISTEN works by DATABASE_URL_DIRECT/);
    } finally {
      await pooler.stop();
    }
  });
});
