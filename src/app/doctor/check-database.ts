import { access, statfs } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { findBinaries } from '@research-mirror/embedded-postgres/binaries';
import { databaseFolder } from '@research-mirror/embedded-postgres/embedded-state';
import { isPortFree, nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { explainFailure } from '@research-mirror/embedded-postgres/start-failure';
import { ensureWritableFolder } from '@research-mirror/embedded-postgres/writable-folder';
import { Unusable } from '@research-mirror/runtime/errors';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import type { DatabaseConfig } from '../../config/config.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { type Db, onlyRow } from '../../db/connection/db.ts';
import { readDsn, systemUser } from '../../db/connection/dsn.ts';
import { quotedName } from '../../db/connection/quoted.ts';
import { concernsWholeDatabase, failureMessage, sqlState } from '../../db/connection/sql-state.ts';
import { hindrances } from '../../db/inspection/hindrances.ts';
import { whatIsMissing } from '../../db/inspection/missing-parts.ts';
import { missingRights } from '../../db/inspection/owner-rights.ts';
import { tryWriting } from '../../db/inspection/write-trial.ts';
import { checkServer } from '../../db/migrations/run-migrations.ts';
import { listen } from '../../db/notify/wakeups.ts';
import { groupRoles, mayMakeRoles, roleId } from '../../db/roles/roles.ts';
import { READ_ONLY } from '../daemon/readiness.ts';
import { MIGRATIONS } from '../program-files.ts';
import { judgeVersion } from '../releases.ts';
import { broken, type Check, type CheckFinding, type Findings, ok, shellWord, warning } from './check.ts';
import { clockSkew, judgeClock } from './check-service.ts';
import type { Context } from './context.ts';

/** Bytes of free space: below the first nothing goes on, below the second it is worth a look. */
const FULL_BYTES = 256 * 1024 * 1024;
const LITTLE_BYTES = 2 * 1024 * 1024 * 1024;

/** A check of a database that is there, with a mirror in it or not. */
const inside =
  (look: (db: Db, context: Context) => Promise<Findings>): Check<Context>['run'] =>
  async (context) =>
    context.server === 'absent' ? [] : look((await context.database()).db, context);

export const DATABASE_CHECKS: readonly Check<Context>[] = [
  { name: 'data_folder', run: dataFolder },
  { name: 'disk', after: ['data_folder'], run: disk },
  { name: 'database', after: ['data_folder'], run: reach },
  { name: 'server', after: ['database'], run: version },
  { name: 'database_clock', after: ['server'], run: inside(clock) },
  { name: 'rights', after: ['server'], run: inside(rights) },
  { name: 'roles', after: ['server'], run: inside(roles) },
  { name: 'migrations', after: ['server'], run: inside(migrations) },
  { name: 'objects', after: ['migrations'], run: objects },
  { name: 'foreign_objects', after: ['server'], run: inside(foreignObjects) },
  { name: 'writable', after: ['migrations'], run: inside(writable) },
  { name: 'pooler', after: ['writable'], run: inside(pooler) },
];

/** The folder itself, or the nearest above it that is there. */
async function nearestPresent(path: string): Promise<string> {
  try {
    await access(path);
    return path;
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing ? nearestPresent(dirname(path)) : path;
  }
}

const roomFor = (folder: string) => ({
  remedy: 'make room, or set MIRROR_DATA_DIR to a larger disk',
  command: `df -h ${shellWord(folder)}`,
});

/** Whether the folder can be written, or made. A file appears in it for a moment. */
async function dataFolder({ config }: Context): Promise<Findings> {
  if (config.database.kind === 'external') return [];
  const { dataDir } = config.database;
  const folder = await nearestPresent(dataDir);
  try {
    await ensureWritableFolder(folder);
    return ok(`${dataDir} can be ${folder === dataDir ? 'written' : 'made'}`);
  } catch (error) {
    const { code } = (error as Error).cause as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM') {
      const [user, place] = [shellWord(userInfo().username), shellWord(folder)];
      return broken(messageOf(error), {
        remedy: 'or let this user write it, as root',
        command: `chown -R ${user} ${place} && chmod u+rwx ${place}`,
      });
    }
    if (code === 'ENOSPC') return broken(messageOf(error), roomFor(folder));
    // Of a folder that is there, a mirror may be in it: with another one it would begin again.
    if (folder === dataDir) return broken(messageOf(error));
    return broken(messageOf(error), { command: 'export MIRROR_DATA_DIR="$HOME/research-mirror-data"' });
  }
}

async function disk({ config, server }: Context): Promise<Findings> {
  if (config.database.kind === 'external') return [];
  const { dataDir } = config.database;
  const folder = server === 'absent' ? await nearestPresent(dataDir) : await databaseFolder(dataDir);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const found = `${formatCount(Math.round(free / 1024 / 1024))} MB free for ${folder}`;
  if (free < FULL_BYTES) return broken(`the disk is full: ${found}`, roomFor(folder));
  return free < LITTLE_BYTES ? warning(`only ${found}`, roomFor(folder)) : ok(found);
}

async function reach(context: Context): Promise<CheckFinding> {
  const { database } = context.config;
  try {
    if (database.kind === 'external' || context.server !== 'absent')
      return ok((await context.database()).words);
    await findBinaries(database.pgBin);
    if (database.port === 0 || (await isPortFree(database.port)))
      return ok('none yet: the first start makes it');
    return await portTaken(explainFailure('Address already in use', database.port, ''));
  } catch (error) {
    context.signal.throwIfAborted();
    const found = messageOf(error);
    if (database.kind === 'external') return broken(found, mendConnection(database, sqlState(error)));
    return /did not start: port /.test(found) ? portTaken(found) : broken(found);
  }
}

async function portTaken(found: string): Promise<CheckFinding> {
  return broken(found, { command: `export MIRROR_PG_PORT=${await nonEphemeralPort()}` });
}

/** @param state SQLSTATE of the refusal; undefined: the server does not answer */
function mendConnection(
  { url, variables }: DatabaseConfig & { readonly kind: 'external' },
  state: string | undefined,
): Partial<CheckFinding> {
  const { host, port, user = systemUser(), database = user } = readDsn(url.reveal(), variables());
  const login = quotedName(user);
  if (state === undefined)
    return { remedy: `see that the server runs at ${host}:${port}, and mend host and port in DATABASE_URL` };
  if (state === '28P01')
    return {
      remedy: "or give the user that password, as a DBA, with psql's variable password",
      sql: `alter role ${login} login password :'password';`,
    };
  if (state !== '3D000') return {};
  const sql = `create database ${quotedName(database)} owner ${login} template template0 encoding 'UTF8';`;
  return { remedy: 'as a DBA', sql };
}

async function version(context: Context): Promise<CheckFinding> {
  const where = context.config.database;
  const update =
    where.kind === 'external'
      ? 'update the server'
      : 'let MIRROR_PG_BIN name the folder of an up-to-date PostgreSQL of the same major version, or set DATABASE_URL to such a server';
  if (where.kind === 'embedded' && context.server === 'absent') {
    const { version: full } = await findBinaries(where.pgBin);
    return judgeVersion('PostgreSQL', full.split('.', 2).join('.'), update);
  }
  const { db } = await context.database();
  // Debian's says more: `15.18 (Debian 15.18-0+deb12u1)`.
  const { number, encoding, sql } = onlyRow(
    await db.sql<{ number: string; encoding: string; sql: string }>`
      select split_part(current_setting('server_version'), ' ', 1) as number,
        current_setting('server_encoding') as encoding,
        format('create database %I owner %I template template0 encoding ''UTF8'';',
          current_database() || '_utf8', current_user) as sql`,
  );
  try {
    await checkServer(db);
    return judgeVersion('PostgreSQL', number, update);
  } catch (error) {
    const remedy = 'make a database beside it, as a DBA, and name that one in DATABASE_URL';
    return broken(messageOf(error), encoding === 'UTF8' ? {} : { remedy, sql });
  }
}

async function clock(db: Db, context: Context): Promise<CheckFinding> {
  const askedAt = context.clock.now();
  const said = (await databaseTime(db)).getTime();
  return judgeClock("the database's clock", clockSkew(said, 0, askedAt, context.clock.now()));
}

async function rights(db: Db): Promise<CheckFinding> {
  const missing = await missingRights(db, MIGRATIONS);
  if (missing.length === 0) return ok('the user may make, own and write all that the mirror needs');
  return broken(`the user ${missing.map(({ what }) => what).join('; ')}`, {
    remedy: 'as a DBA',
    sql: missing.map(({ sql }) => sql).join(' '),
  });
}

async function roles(db: Db): Promise<CheckFinding> {
  const missing: string[] = [];
  for (const { name } of groupRoles(db.schema)) if ((await roleId(db, name)) === null) missing.push(name);
  if (missing.length === 0) return ok('all are there');
  if (await mayMakeRoles(db)) return ok(`${missing.join(', ')}: made at the next start`);
  return warning(`there is no ${missing.join(', no ')}, and this user may make none: nobody else reads`, {
    remedy: 'as a DBA; the next start, or migrate, gives them their rights',
    sql: missing.map((name) => `create role ${quotedName(name)} nologin;`).join(' '),
  });
}

async function migrations({ schema }: Db, context: Context): Promise<CheckFinding> {
  try {
    const { length } = await context.pending();
    if (length === 0) return ok(`schema ${schema} is of this version`);
    return warning(`schema ${schema} is behind by ${countOf(length, 'migration')}`, {
      remedy: 'start and sync bring it up by themselves; so does',
      command: 'research-mirror migrate',
    });
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    return broken(messageOf(error));
  }
}

/** What the migrations made and is gone. */
async function objects({ mirror }: Context): Promise<Findings> {
  const db = await mirror();
  if (db === undefined) return [];
  const missing = await whatIsMissing(db, MIGRATIONS);
  return missing === undefined ? ok('all that migrations made is there') : broken(missing);
}

/** What was added to the mirror's tables and can refuse writes. */
async function foreignObjects(db: Db): Promise<Findings> {
  const found = await hindrances(db, MIGRATIONS);
  if (found.length === 0) return ok('no trigger, rule or setting is in the way of writes');
  const remedy = 'where it is not meant, as a DBA';
  return found.map(({ state, what, sql }) => (state === 'broken' ? broken : warning)(what, { remedy, sql }));
}

/** Whether the database takes writes, tried. */
export async function writable(db: Db, { mirror }: Pick<Context, 'mirror'>): Promise<CheckFinding> {
  const { standby, readOnly, source, sql } = onlyRow(
    await db.sql<{ standby: boolean; readOnly: boolean; source: string; sql: string }>`
      select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::boolean as "readOnly", source,
        -- The DBA's own session may be read-only, too. ALTER SYSTEM is for no transaction, and needs none.
        case when place is null then 'alter system reset default_transaction_read_only; select pg_reload_conf();'
          else format('begin read write; %s reset default_transaction_read_only; commit;', place) end as sql
      from pg_settings, lateral (select case source
        when 'user' then format('alter role %I', current_user)
        when 'database' then format('alter database %I', current_database())
        when 'database user' then format('alter role %I in database %I', current_user, current_database())
        end as place) as p
      where name = 'default_transaction_read_only'`,
  );
  if (standby) return broken(READ_ONLY, { remedy: 'it is a standby: set DATABASE_URL to its primary' });
  if (readOnly) {
    const remedy = `default_transaction_read_only is set (${source}): take it away, as a DBA`;
    return broken(READ_ONLY, { remedy, sql });
  }
  // Without its schemas there is no place for a trial.
  const place = await mirror();
  const refusal: unknown = place && (await tryWriting(place).catch((error: unknown) => error));
  // What it lacks may be a right: `rights` names it.
  if (refusal === undefined || sqlState(refusal) === '42501') return ok('takes writes');
  const why = `a trial table of a page's size can't be written: ${failureMessage(refusal)}`;
  // Where no more than tables can't be made, as where DDL is frozen, `foreign_objects` names it.
  return concernsWholeDatabase(refusal) ? broken(why) : warning(why);
}

/** Whether wake-ups arrive: behind a transaction pooler LISTEN hears nothing. */
async function pooler(db: Db, context: Context): Promise<Findings> {
  const { database, schema } = context.config;
  if (database.kind === 'embedded') return [];
  const variable = database.directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_URL_DIRECT';
  const { direct: connection } = await context.database();
  if (await listen({ connection, schema, clock: context.clock }, context.signal))
    return ok(`LISTEN works by ${variable}: the daemon is woken at once`);
  const server = onlyRow(
    await db.sql<{ host: string; port: number; database: string; user: string }>`
      select case family(inet_server_addr()) when 4 then host(inet_server_addr())
          when 6 then format('[%s]', host(inet_server_addr())) else 'localhost' end as host,
        coalesce(inet_server_port(), 5432) as port, current_database() as database, current_user as user`,
  );
  const url = new URL(`postgres://${server.host}:${server.port}`);
  url.username = readDsn(database.url.reveal(), database.variables()).user ?? server.user;
  url.pathname = `/${server.database}`;
  return warning(
    `${variable} leads through a transaction pooler, where LISTEN hears nothing: the daemon looks each second instead`,
    {
      remedy: 'name the way around it, with PGPASSWORD set, or the password in the URL',
      command: `export DATABASE_URL_DIRECT=${shellWord(url.href)}`,
    },
  );
}
