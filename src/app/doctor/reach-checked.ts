import { statfs } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../db/connection/database.ts';
import { openDatabase } from '../../db/connection/database.ts';
import { readDsn, systemUser } from '../../db/connection/dsn.ts';
import { isPooled } from '../../db/inspection/pooled.ts';
import { quotedName } from '../../db/connection/quoted.ts';
import type { ServerFacts } from '../../db/inspection/server-facts.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { listenWorks } from '../../db/notify/wakeups.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { formatCount } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { reachDatabase, type DatabaseReach, type ReachedDatabase } from '../process/reach-database.ts';
import { createDatabaseSql } from './check-database.ts';
import { shellWord, type Mend, type Report } from './check.ts';

/** A database that doctor has reached. */
export interface CheckedDatabase extends Database {
  readonly reached: ReachedDatabase;
}

/** Statements of doctor's own: somebody waits for them (ms). */
const BOUNDS = { statement: 5_000, idle: 5_000 };

/** Reaches the database as `start` does. @returns undefined where that fails, which is reported then */
export async function reachChecked(
  config: Config,
  options: DatabaseReach,
  report: Report,
): Promise<CheckedDatabase | undefined> {
  const { database } = config;
  let reached: ReachedDatabase | undefined;
  try {
    reached = await reachDatabase(database, options);
    const opened = await openDatabase({
      ...reached.connection,
      schema: config.schema,
      max: 2,
      bounds: BOUNDS,
    });
    report('database', 'ok', reached.words);
    return {
      ...opened,
      reached,
      close: async () => {
        await opened.close();
        await reached?.leave();
      },
    };
  } catch (error) {
    await reached?.leave();
    options.signal.throwIfAborted();
    report('database', 'broken', messageOf(error), await mendOf(config, error));
    return undefined;
  }
}

async function mendOf({ database }: Config, error: unknown): Promise<Mend> {
  if (database.kind === 'embedded') {
    if (!messageOf(error).startsWith('the embedded PostgreSQL did not start: port ')) return {};
    return { command: `export MIRROR_PG_PORT=${await nonEphemeralPort()}` };
  }
  const dsn = readDsn(database.url.reveal(), database.variables());
  const user = dsn.user ?? systemUser();
  switch (sqlState(error)) {
    case '28P01':
      return {
        remedy: "or give the user that password, as a DBA, with psql's variable password",
        sql: `alter role ${quotedName(user)} login password :'password';`,
      };
    case '3D000':
      return { remedy: 'as a DBA', sql: createDatabaseSql(dsn.database ?? user, user) };
    case undefined:
      return {
        remedy: `see that the server runs at ${dsn.host}:${dsn.port}, and mend host and port in DATABASE_URL`,
      };
    default:
      return {};
  }
}

/** Whether wake-ups work, and what is between us and the server. */
export async function checkPooler(
  config: Config,
  { reached }: CheckedDatabase,
  facts: ServerFacts,
  clock: Clock,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const { database } = config;
  if (database.kind === 'embedded') return;
  const pooled = await isPooled(reached.connection);
  // A standby can't LISTEN.
  const listens =
    facts.standby ||
    (await listenWorks({ connection: reached.direct, schema: config.schema, clock }, signal));
  if (listens) {
    const past =
      database.directUrl === undefined ? 'it passes LISTEN on' : 'DATABASE_URL_DIRECT leads past it';
    report('pooler', 'ok', pooled ? `DATABASE_URL leads through a pooler; ${past}` : 'none');
    return;
  }
  const { user } = readDsn(database.url.reveal(), database.variables());
  const url = new URL(`postgres://${facts.address ?? 'localhost'}:${facts.port ?? 5432}`);
  url.username = user ?? facts.user;
  url.pathname = `/${facts.database}`;
  report(
    'pooler',
    'warning',
    database.directUrl === undefined
      ? 'DATABASE_URL leads through a transaction pooler, where LISTEN hears nothing: the daemon looks each second instead'
      : 'DATABASE_URL_DIRECT leads through a transaction pooler, too: LISTEN hears nothing there',
    {
      remedy: 'name the way around it, with PGPASSWORD set, or the password in the URL',
      command: `export DATABASE_URL_DIRECT=${shellWord(url.href)}`,
    },
  );
}

/** Bytes of free space: below the first nothing goes on, below the second it is worth a look. */
const FULL_BYTES = 256 * 1024 * 1024;
const LITTLE_BYTES = 2 * 1024 * 1024 * 1024;

/** The disk under a folder of this machine. */
export async function checkDisk(folder: string, report: Report): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const found = `${megabytes(free)} free for ${folder}`;
  const mend = {
    remedy: 'make room, or set MIRROR_DATA_DIR to a larger disk',
    command: `df -h ${shellWord(folder)}`,
  };
  if (free < FULL_BYTES) report('disk', 'broken', `the disk is full: ${found}`, mend);
  else if (free < LITTLE_BYTES) report('disk', 'warning', `only ${found}`, mend);
  else report('disk', 'ok', found);
}

/** Of a server elsewhere only the size of the database can be known. */
export function reportSize({ bytes }: ServerFacts, report: Report): void {
  report(
    'disk',
    'ok',
    `the database has ${megabytes(bytes)}; what is free, the server's own monitoring says`,
  );
}

function megabytes(bytes: number): string {
  return `${formatCount(Math.round(bytes / 1024 / 1024))} MB`;
}
