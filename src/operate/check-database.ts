/** The checks of `doctor` that look at the database. */

import { findBinaries } from '@research-mirror/embedded-postgres/binaries';
import { databaseFolder, ensureWritableFolder } from '@research-mirror/embedded-postgres/embedded-state';
import { isPortFree } from '@research-mirror/embedded-postgres/ports';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MIGRATIONS } from '../config/program.ts';
import { databaseTime, type Db, quotedName } from '../postgres/db.ts';
import { missingRights, tryWriting, whatIsMissing } from '../postgres/inspection.ts';
import { listen } from '../postgres/notifications.ts';
import { groupRoles, mayMakeRoles, roleId } from '../postgres/roles.ts';
import { checkServer, migratedParts } from '../postgres/run-migrations.ts';
import { concernsWholeDatabase, failureMessage, sqlState } from '../postgres/sql-state.ts';
import { whyReadOnly } from '../status/readiness.ts';
import { broken, type Check, clockSkew, type Context, judgeVersion, ok, warning } from './check.ts';
import { judgeClock } from './check-service.ts';

/** Bytes of free space. Below FULL the mirror can't work; below LITTLE it warns. */
const FULL_BYTES = 256 * 1024 * 1024;
const LITTLE_BYTES = 2 * 1024 * 1024 * 1024;

/** A check that connects to the database; it is skipped while there is none. */
const inside =
  (look: (db: Db, context: Context) => ReturnType<Check['run']>): Check['run'] =>
  async (context) =>
    context.server === 'absent' ? [] : look((await context.database()).db, context);

export const DATABASE_CHECKS: readonly Check[] = [
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

/** The folder, or its nearest ancestor. */
function nearestPresent(path: string): string {
  return existsSync(path) ? path : nearestPresent(dirname(path));
}

/** Whether the folder can be written or created: tries it. */
async function dataFolder({ config: { database } }: Context) {
  if (database.kind === 'external') return [];
  const { dataDir } = database;
  const folder = nearestPresent(dataDir);
  await ensureWritableFolder(folder);
  return ok(`${dataDir} ${folder === dataDir ? 'is writable' : 'can be created'}`);
}

async function disk({ config: { database } }: Context) {
  if (database.kind === 'external') return [];
  const folder = nearestPresent(await databaseFolder(database.dataDir));
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const found = `${formatCount(Math.round(free / 1024 / 1024))} MB free in ${folder}`;
  if (free >= LITTLE_BYTES) return ok(found);
  const room = { remedy: 'free some space, or set MIRROR_DATA_DIR to a folder on a larger disk' };
  return free < FULL_BYTES ? broken(`the disk is full: ${found}`, room) : warning(`only ${found}`, room);
}

async function reach(context: Context) {
  const { database } = context.config;
  if (database.kind === 'embedded' && context.server === 'absent') {
    const { pgBin, port } = database;
    await findBinaries(pgBin);
    if (port === 0 || (await isPortFree(port))) return ok('none yet; the first start creates it');
    return broken(`port ${port} is taken by another program`, { remedy: 'set MIRROR_PG_PORT to a free port' });
  }
  try {
    return ok((await context.database()).words);
  } catch (error) {
    context.signal.throwIfAborted();
    if (database.kind === 'embedded') return broken(messageOf(error));
    return broken(messageOf(error), {
      remedy:
        'fix DATABASE_URL or the server; "research-mirror doctor --sql" prints SQL that creates login, password and database',
    });
  }
}

async function version({ config, server, database }: Context) {
  const where = config.database;
  const isEmbedded = where.kind === 'embedded';
  const number =
    isEmbedded && server === 'absent'
      ? (await findBinaries(where.pgBin)).version.split('.', 2).join('.')
      : await checkServer((await database()).db);
  const update = isEmbedded
    ? 'set MIRROR_PG_BIN to the folder of an up-to-date PostgreSQL of the same major version, or DATABASE_URL to such a server'
    : 'update the server';
  return judgeVersion('PostgreSQL', number, update);
}

async function clock(db: Db, { clock: ours }: Context) {
  const askedAt = ours.now();
  const said = (await databaseTime(db)).getTime();
  return judgeClock("the database's clock", clockSkew(said, 0, askedAt, ours.now()));
}

async function rights(db: Db) {
  const missing = await missingRights(db, MIGRATIONS);
  if (missing.length === 0) return ok('the user can create, own and write all that the mirror needs');
  return broken(`the user ${missing.map(({ what }) => what).join('; ')}`, {
    remedy: 'run as a DBA',
    sql: missing.map(({ sql }) => sql).join(' '),
  });
}

async function roles(db: Db) {
  const missing: string[] = [];
  for (const { name } of groupRoles(db.schema)) if ((await roleId(db, name)) === null) missing.push(name);
  if (missing.length === 0) return ok('all exist');
  if (await mayMakeRoles(db)) return ok(`${missing.join(', ')}: created at the next start`);
  return warning(
    `there is no ${missing.join(', no ')}, and this user can't create roles: no other user can read the mirror`,
    {
      remedy: 'the next start (or migrate) grants their rights; run this first, as a DBA',
      sql: missing.map((name) => `create role ${quotedName(name)} nologin;`).join(' '),
    },
  );
}

async function migrations({ schema }: Db, { pending }: Context) {
  const { length } = await pending();
  if (length === 0) return ok(`schema ${schema} is up to date`);
  return warning(`schema ${schema} is behind by ${countOf(length, 'migration')}`, {
    remedy: 'start and sync apply them by themselves; to do it now',
    command: 'research-mirror migrate',
  });
}

/** Whether everything that migrations made is there. */
async function objects({ mirror }: Context) {
  const db = await mirror();
  if (db === undefined) return [];
  const missing = await whatIsMissing(db, MIGRATIONS);
  return missing === undefined ? ok('everything that migrations created is there') : broken(missing);
}

/** What others added to the mirror's tables that may refuse or lose writes. The mirror itself has none of it. */
export async function foreignObjects(db: Db) {
  const made = await migratedParts(MIGRATIONS);
  const tables = made.flatMap((part) => /^table \{schema\}(\S+)$/.exec(part)?.[1] ?? []);
  const { rows } = await db.sql<Pick<ReturnType<typeof ok>, 'state' | 'found' | 'sql'>>`
    with own as (
      select c.*, format('%I.%I', nspname, relname) as name from pg_class c join pg_namespace n on n.oid = relnamespace
      where nspname || '.' || relname = any(
        select ${db.schema}::text || place from unnest(${tables}::text[]) as place)),
    published as (select format('%I.%I', t.schemaname, t.tablename) as name, min(t.pubname) as publication
      from pg_publication_tables t join pg_publication p using (pubname) where pubupdate or pubdelete group by 1),
    -- Internal triggers belong to foreign keys. Bits 4, 8, 16: insert, delete, update.
    hindrance as (
      select 'warning' as state, format('the trigger %I on %s runs with each write and can refuse it', tgname, name) as found,
        format('alter table %s disable trigger %I;', name, tgname) as sql
      from pg_trigger join own on own.oid = tgrelid
      where not tgisinternal and tgenabled in ('O', 'A') and tgtype::int & 28 <> 0
      union all
      select 'broken', format('the rule %I on %s intercepts writes', rulename, name), format('drop rule %I on %s;', rulename, name)
      from pg_rewrite join own on own.oid = ev_class
      where ev_enabled in ('O', 'A') and ev_type in ('2', '3', '4')
      union all
      select 'warning', format('the event trigger %I runs when the mirror creates a column or migrates, and can refuse it', evtname),
        format('alter event trigger %I disable;', evtname)
      from pg_event_trigger e where evtenabled in ('O', 'A') and evtevent <> 'login'
        and (evttags is null or evttags && array['CREATE TABLE', 'ALTER TABLE', 'CREATE VIEW', 'ALTER VIEW', 'CREATE INDEX'])
        and not exists (select from pg_depend where classid = 'pg_event_trigger'::regclass and objid = e.oid and deptype = 'e')
      union all
      select case when publication is null then 'warning' else 'broken' end,
        format('%s has no replica identity: %s', name, case when publication is null
          then 'a publication would make Postgres refuse its changes'
          else format('the publication %I makes Postgres refuse its changes', publication) end),
        format('alter table %s replica identity default;', name)
      from own left join published using (name)
      where relreplident = 'n' or relreplident = 'i' and not exists (
        select from pg_index where indrelid = own.oid and indisreplident)
      union all
      select 'broken', format('row security hides rows of %s from %I', name, current_user),
        format('alter table %s no force row level security;', name)
      from own where row_security_active(own.oid)
      union all
      select 'warning', format('%s is unlogged: a crash of the server empties it', name), format('alter table %s set logged;', name)
      from own where relpersistence = 'u')
    select * from hindrance order by state, found`;
  if (rows.length === 0) return ok('no trigger, rule or setting interferes with writes');
  return rows.map((row) => warning(row.found, { ...row, remedy: 'if it is not intended, run as a DBA' }));
}

/** Whether the database accepts writes: tries one. */
export async function writable(db: Db, { mirror }: Pick<Context, 'mirror'>) {
  const readOnly = await whyReadOnly(db);
  if (readOnly !== undefined)
    return broken(readOnly, {
      remedy:
        'unless it is a standby, reset default_transaction_read_only as a DBA (in psql, \\drds shows where it is set)',
    });
  // Without the mirror's schemas there is nowhere to try.
  const place = await mirror();
  const refusal: unknown = place && (await tryWriting(place).catch((error: unknown) => error));
  // A missing right is reported by the check `rights`.
  if (refusal === undefined || sqlState(refusal) === '42501') return ok('accepts writes');
  const why = `can't write a trial table of a page's size: ${failureMessage(refusal)}`;
  // If only DDL is refused, `foreign_objects` says by what.
  return (concernsWholeDatabase(refusal) ? broken : warning)(why);
}

/** Whether notifications arrive: LISTEN hears nothing behind a transaction pooler. */
async function pooler(_: Db, { config, clock, database, signal }: Context) {
  if (config.database.kind === 'embedded') return [];
  const variable = config.database.directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_URL_DIRECT';
  const { direct: connection } = await database();
  if (await listen({ connection, schema: config.schema, clock }, signal))
    return ok(`LISTEN works over ${variable}: the daemon is notified at once`);
  return warning(
    `${variable} goes through a transaction pooler, where LISTEN hears nothing; the daemon checks once a second instead`,
    { remedy: 'set DATABASE_URL_DIRECT to the server behind the pooler' },
  );
}
