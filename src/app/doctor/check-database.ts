import { READ_ONLY } from '../daemon/readiness.ts';
import { MIGRATIONS, programVersion } from '../program-files.ts';
import type { Db } from '../../db/connection/db.ts';
import { serverFacts, type ServerFacts } from '../../db/inspection/server-facts.ts';
import { quotedName } from '../../db/connection/quoted.ts';
import { checkServer, pendingMigrations } from '../../db/migrations/run-migrations.ts';
import { hindrances } from '../../db/inspection/hindrances.ts';
import { whatIsMissing } from '../../db/inspection/missing-parts.ts';
import { missingRights } from '../../db/inspection/owner-rights.ts';
import { groupRoles, mayMakeRoles, roleId } from '../../db/roles/roles.ts';
import { tryWriting } from '../../db/inspection/write-trial.ts';
import { concernsWholeDatabase, failureMessage, sqlState } from '../../db/connection/sql-state.ts';
import { oldReaders } from '../../db/inspection/oldest-readers.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { Unusable } from '@research-mirror/runtime/errors';
import { countOf, formatSpan } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import type { Report } from './check.ts';
import { judgeVersion } from '../releases.ts';
import { CLOCK_REMEDY, clockSkew, describeSkew } from './clock-skew.ts';

/** Of a database that is reached. */
export const INSIDE_CHECKS = [
  'server',
  'writable',
  'rights',
  'migrations',
  'objects',
  'foreign_objects',
  'roles',
  'durability',
  'database_clock',
  'vacuum',
] as const;

/** Older transactions keep vacuum from its work (ms). */
const OLD_READER_MS = 10 * 60_000;

/**
 * What can be seen of the database from within. Changes nothing in it.
 * @param update how to get a newer server
 * @param oldReaderMs how old a transaction may be
 */
export async function checkInside(
  db: Db,
  clock: Clock,
  update: string,
  report: Report,
  oldReaderMs = OLD_READER_MS,
): Promise<ServerFacts> {
  const askedAt = clock.now();
  const facts = await serverFacts(db);
  const answeredAt = clock.now();
  if (!(await checkVersion(db, facts, update, report))) return facts;
  const migrated = await checkMigrations(db, report);
  await checkWritable(db, facts, migrated, report);
  await checkRights(db, facts, report);
  await checkObjects(db, migrated, report);
  await checkRoles(db, report);
  checkDurability(facts, report);
  const skew = clockSkew({ said: facts.now, resolutionMs: 0, askedAt, answeredAt });
  const wrong = describeSkew("the database's clock", skew);
  if (wrong === undefined) report('database_clock', 'ok', "as this machine's");
  else report('database_clock', 'warning', wrong, { remedy: CLOCK_REMEDY });
  await checkVacuum(db, facts, oldReaderMs, report);
  return facts;
}

async function checkVersion(
  db: Db,
  { version, encoding, database, user }: ServerFacts,
  update: string,
  report: Report,
) {
  try {
    await checkServer(db);
  } catch (error) {
    const wrongEncoding = encoding !== 'UTF8';
    report('server', 'broken', messageOf(error), {
      remedy: wrongEncoding
        ? 'make a database beside it, as a DBA, and name that one in DATABASE_URL'
        : 'set DATABASE_URL to a newer server',
      ...(wrongEncoding ? { sql: createDatabaseSql(`${database}_utf8`, user) } : {}),
    });
    return false;
  }
  // Debian's says more: `15.18 (Debian 15.18-0+deb12u1)`.
  report('server', ...judgeVersion('PostgreSQL', version.replace(/ .*/, ''), update));
  return true;
}

/** One in which a mirror can be. */
export function createDatabaseSql(database: string, owner: string): string {
  return `create database ${quotedName(database)} owner ${quotedName(owner)} template template0 encoding 'UTF8';`;
}

async function checkWritable(db: Db, facts: ServerFacts, migrated: boolean, report: Report): Promise<void> {
  if (!facts.readOnly && !facts.standby) {
    // Without its schemas there is no place for a trial.
    const refusal: unknown = migrated ? await tryWriting(db).catch((error: unknown) => error) : undefined;
    // What it lacks may be a right: `rights` names it.
    if (refusal === undefined || sqlState(refusal) === '42501') report('writable', 'ok', 'takes writes');
    else {
      const why = `a trial table of a page's size can't be written: ${failureMessage(refusal)}`;
      // Where no more than tables can't be made, as where DDL is frozen, `foreign_objects` names it.
      report('writable', concernsWholeDatabase(refusal) ? 'broken' : 'warning', why);
    }
    return;
  }
  if (facts.standby) {
    report('writable', 'broken', READ_ONLY, { remedy: 'it is a standby: set DATABASE_URL to its primary' });
    return;
  }
  const [user, database] = [quotedName(facts.user), quotedName(facts.database)];
  const places: Readonly<Record<string, string>> = {
    user: `alter role ${user}`,
    database: `alter database ${database}`,
    'database user': `alter role ${user} in database ${database}`,
  };
  const place = places[facts.readOnlySource];
  report('writable', 'broken', READ_ONLY, {
    remedy: `default_transaction_read_only is set (${facts.readOnlySource}): take it away, as a DBA`,
    // The DBA's own session may be read-only, too. ALTER SYSTEM is for no transaction, and needs none.
    sql:
      place === undefined
        ? 'alter system reset default_transaction_read_only; select pg_reload_conf();'
        : `begin read write; ${place} reset default_transaction_read_only; commit;`,
  });
}

/** What the migrations made and is gone; what somebody added to it that can refuse writes. */
async function checkObjects(db: Db, migrated: boolean, report: Report): Promise<void> {
  const missing = migrated ? await whatIsMissing(db, MIGRATIONS) : undefined;
  if (missing !== undefined) report('objects', 'broken', missing);
  else report('objects', 'ok', migrated ? 'all that migrations made is there' : 'migrations come first');
  const found = await hindrances(db, MIGRATIONS);
  for (const { state, what, sql } of found)
    report('foreign_objects', state, what, { remedy: 'where it is not meant, as a DBA', sql });
  if (found.length === 0)
    report('foreign_objects', 'ok', 'no trigger, rule or setting is in the way of writes');
}

async function checkRights(db: Db, { user }: ServerFacts, report: Report): Promise<void> {
  const missing = await missingRights(db, MIGRATIONS);
  if (missing.length === 0) {
    report('rights', 'ok', `${user} may make, own and write all that the mirror needs`);
    return;
  }
  report('rights', 'broken', `${user} ${missing.map(({ what }) => what).join('; ')}`, {
    remedy: 'as a DBA',
    sql: missing.map(({ sql }) => sql).join(' '),
  });
}

/** @returns whether the database is of this version */
async function checkMigrations(db: Db, report: Report): Promise<boolean> {
  try {
    const pending = await pendingMigrations({ db, folder: MIGRATIONS, version: programVersion() });
    if (pending.length === 0) report('migrations', 'ok', `schema ${db.schema} is of this version`);
    else {
      report(
        'migrations',
        'warning',
        `schema ${db.schema} is behind by ${countOf(pending.length, 'migration')}`,
        {
          remedy: 'start and sync bring it up by themselves; so does',
          command: 'research-mirror migrate',
        },
      );
    }
    return pending.length === 0;
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    report('migrations', 'broken', messageOf(error));
    return false;
  }
}

async function checkRoles(db: Db, report: Report): Promise<void> {
  const roles = groupRoles(db.schema).map(({ name }) => name);
  const missing: string[] = [];
  for (const name of roles) if ((await roleId(db, name)) === null) missing.push(name);
  if (missing.length === 0) report('roles', 'ok', `${roles.join(', ')} are there`);
  else if (await mayMakeRoles(db)) report('roles', 'ok', `${missing.join(', ')}: made at the next start`);
  else {
    report(
      'roles',
      'warning',
      `there is no ${missing.join(', no ')}, and this user may make none: nobody else reads`,
      {
        remedy: 'as a DBA; the next start, or migrate, gives them their rights',
        sql: missing.map((name) => `create role ${quotedName(name)} nologin;`).join(' '),
      },
    );
  }
}

function checkDurability({ synchronousCommit, user, database }: ServerFacts, report: Report): void {
  if (synchronousCommit !== 'off') {
    report('durability', 'ok', `synchronous_commit is ${synchronousCommit}`);
    return;
  }
  report(
    'durability',
    'warning',
    'synchronous_commit is off: a crash loses commits, and everything is read again',
    {
      remedy: 'where that is not meant, for this user',
      sql: `alter role ${quotedName(user)} in database ${quotedName(database)} set synchronous_commit = on;`,
    },
  );
}

async function checkVacuum(
  db: Db,
  { user }: ServerFacts,
  oldReaderMs: number,
  report: Report,
): Promise<void> {
  const { found, hidden } = await oldReaders(db, oldReaderMs);
  const [oldest] = found;
  if (oldest !== undefined) {
    const who = `${oldest.program === '' ? 'a session' : oldest.program} of ${oldest.user}`;
    const more = found.length > 1 ? `, and ${found.length - 1} more` : '';
    report(
      'vacuum',
      'warning',
      `a transaction has been open for ${formatSpan(oldest.ageMs)} (${who}${more}): vacuum removes nothing meanwhile, and tables grow`,
      {
        remedy: 'end it, and give that login an idle_in_transaction_session_timeout and a statement_timeout',
        sql: found.map(({ pid }) => `select pg_terminate_backend(${pid});`).join(' '),
      },
    );
    return;
  }
  const unseen =
    hidden === 0
      ? ''
      : `; of ${countOf(hidden, 'session')} nothing can be seen (grant pg_read_all_stats to ${quotedName(user)})`;
  report('vacuum', 'ok', `no transaction is open for more than ${formatSpan(oldReaderMs)}${unseen}`);
}
