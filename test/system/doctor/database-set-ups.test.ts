import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPgbouncerTested, startPgbouncer } from '../../support/databases/pgbouncer.ts';
import { examine, ran, settingOf, type DoctorSetting } from '../../support/processes/doctor.ts';
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

const wrongAt = async (env: Environment = {}): Promise<string> => (await examine(setting(env))).wrong;

describe('doctor says the cause and the remedy of', () => {
  it.each([
    [
      'tables that belong to another role',
      () => `alter table ${SCHEMA}.lists owner to postgres; alter view ${SCHEMA}.freshness owner to postgres;
        alter table ${SCHEMA}_sync.scope owner to postgres`,
      /^rights broken: .*does not own doctor_\w+\.freshness \(of postgres\).*$/,
    ],
    [
      'tables that may not be written',
      () => `revoke insert, update on ${SCHEMA}.lists from ${OWNER}`,
      /^rights broken: .*may not write doctor_\w+\.lists.*$/,
    ],
    [
      'group roles that are missing, where the login may make none',
      () => `drop owned by ${SCHEMA}_submitter; drop role ${SCHEMA}_submitter`,
      /^roles warning: .*there is no doctor_\w+_submitter.*$/,
    ],
  ])('%s, by SQL that mends it', async (_, harm, words) => {
    await ask(harm());
    const found = await examine(setting());
    expect(found.wrong).toMatch(words);
    await ran(found.the(found.wrong.split(' ')[0] ?? ''), database.url);
    expect(await wrongAt()).toBe('');
  });

  it('a right to make schemas that was taken away, where one has still to be made', async () => {
    const more = { MIRROR_SCHEMA: `${SCHEMA}_more` };
    await ask(`revoke create on database ${nameOf(database.url)} from ${OWNER}`);
    expect(await wrongAt()).toBe('');
    const { wrong, the } = await examine(setting(more));
    expect(wrong).toMatch(/^rights broken: .*may not create a schema in the database/m);
    await ran(the('rights'), database.url);
    expect(await wrongAt(more)).not.toMatch(/^rights/m);
  });

  it('nothing, where the operator has tables of their own in the schema', async () => {
    await ask(`create table ${SCHEMA}.my_notes (note text)`);
    expect(await wrongAt()).toBe('');
    await ask(`drop table ${SCHEMA}.my_notes`);
  });

  it('an encoding that can’t hold every text', async () => {
    const other = await createTestDatabase('SQL_ASCII');
    more.push(other);
    const url = new URL(String(asOwner()['DATABASE_URL']));
    url.pathname = new URL(other.url).pathname;
    expect(await wrongAt({ DATABASE_URL: url.href })).toMatch(
      /^server broken: .*the database's encoding is SQL_ASCII.*$/m,
    );
  });

  it('a setting of the login with which the program can’t work: the SQL that it says, and no other remedy', async () => {
    await ask(`alter role ${OWNER} set search_path = mirror, pg_catalog`);
    const { wrong, the } = await examine(setting());
    const said = /^server broken: .*Run "(alter role [^"]* = "\$user", public)", then.*$/.exec(wrong)?.[1];
    expect(the('server').remedy).toBeNull();
    await ask(said ?? '');
    expect(await wrongAt()).toBe('');
    await ask(`alter role ${OWNER} reset search_path`);
  });

  it('a database that a newer program has migrated', async () => {
    const migrations = `${SCHEMA}_sync.migration`;
    await ask(`insert into ${migrations} (name, checksum, applied_at) values ('9999_later', '', now())`);
    expect(await wrongAt()).toMatch(/^migrations broken: .*newer than this program.* Run a newer version.*$/);
    await ask(`delete from ${migrations} where name = '9999_later'`);
  });

  it('a database that is behind: the command brings it up', async () => {
    const empty = await createTestDatabase();
    more.push(empty);
    const behind = { DATABASE_URL: empty.url, MIRROR_SCHEMA: 'mirror' };
    expect(await wrongAt(behind)).toMatch(/^migrations warning: .* → research-mirror migrate$/m);
    expect(await system.run(['migrate'], behind)).toMatchObject({ code: 0 });
    expect((await examine(setting(behind))).the('migrations')).toMatchObject({ state: 'ok' });
  });
});

describe.runIf(isPgbouncerTested())('doctor through pgbouncer', () => {
  it('notices a transaction pooler, and names the way around it', async () => {
    const pooler = await startPgbouncer(String(asOwner()['DATABASE_URL']));
    try {
      const through = { DATABASE_URL: pooler.url, PGPASSWORD: 'first' };
      expect(await wrongAt(through)).toMatch(/^pooler warning: .* → .*DATABASE_URL_DIRECT.*$/);
      const direct = { DATABASE_URL_DIRECT: String(asOwner()['DATABASE_URL']) };
      const around = await examine(setting({ ...through, ...direct }));
      expect(around.wrong).toBe('');
      expect(around.the('pooler').found).toMatch(/^LISTEN works over DATABASE_URL_DIRECT/);
    } finally {
      await pooler.stop();
    }
  });
});
