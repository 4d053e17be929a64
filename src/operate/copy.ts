/** `copy`: the mirror into another database, complete and with its history. */

import { ClassifiedError, Unusable } from '@research-mirror/runtime/errors';
import { countOf } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { loadConfig } from '../config/load.ts';
import { MIGRATIONS } from '../config/program.ts';
import { SECOND_COLUMN } from '../mirror/columns.ts';
import { extendRestoredViews } from '../mirror/table-columns.ts';
import { COPIED_TABLES, type CopiedTable } from '../postgres/citus.ts';
import { databaseTime, Db, quotedName, quotedText } from '../postgres/db.ts';
import { endpointHost } from '../postgres/fingerprint.ts';
import { markCopied } from '../postgres/installation.ts';
import { reachDatabase } from '../postgres/open-mirror.ts';
import { type ConnectionOptions, PIN_SETTINGS, resolveConnection } from '../postgres/pool.ts';
import { ensureGrants } from '../postgres/roles.ts';
import { migrateEmpty, unknownMigrations } from '../postgres/run-migrations.ts';
import { databaseError } from '../postgres/sql-state.ts';
import { onMirror, workOptions } from '../terminal/open-mirror.ts';
import { Progress } from '../terminal/progress.ts';
import { complain, EXIT, type Options, say, type Shell, UsageError } from '../terminal/shell.ts';

export async function copyAction(
  shell: Shell,
  given: readonly string[],
  { dataDir, json, demo }: Options<'json' | 'demo', 'dataDir'>,
) {
  const config = loadConfig(shell.env, 'database');
  const { pgBin, copyTo: configured } = config;
  // The error does not repeat what was given: it may contain a password.
  if (given.length > 0 || /^postgres(ql)?:/.test(dataDir ?? '')) {
    throw new UsageError(
      "copy takes no target on the command line, where others see its password. Set MIRROR_COPY_TO to the target's " +
        'URL, or MIRROR_COPY_TO_FILE to a file that has it',
    );
  }
  if ((dataDir === undefined) === (configured === undefined)) {
    throw new UsageError(
      'copy needs one target. Set MIRROR_COPY_TO to the URL of an empty database, or give --data-dir, not both',
    );
  }
  const to = configured ?? { kind: 'embedded', dataDir: resolve(dataDir ?? ''), pgBin, port: 0 };
  return onMirror(shell, 'copy', { config, demo }, async ({ direct }) => {
    const options = { ...workOptions(shell, config), command: 'copy' };
    const target = await reachDatabase(to, options).catch(ofTarget);
    const progress = new Progress(shell);
    try {
      const onBytes = (table: string, bytes: number): void => progress.show(`${table}: ${(bytes / 1e6).toFixed(1)} MB`);
      const { schema } = config;
      const at = { source: direct, target: target.direct, schema, signal: shell.signal };
      const report = await copyMirror({ ...at, onBytes });
      progress.end();
      const { rows, tables, takenAt } = report;
      const told =
        `copied ${countOf(rows, 'row')} of ${countOf(Object.keys(tables).length, 'table')}, as of ${takenAt}.\n` +
        "The copy's first start reads everything again. Its queued submissions are on hold; once the original is off, " +
        'release them: "research-mirror submissions release".';
      say(shell, json === true ? JSON.stringify({ ...report, schema, held: true }) : told);
      return EXIT.DONE;
    } catch (error) {
      if (!(error instanceof CopyRefused)) throw error;
      complain(shell, error.message);
      return EXIT.NO;
    } finally {
      progress.end();
      await target.leave();
    }
  });
}

/** The target has a mirror, or the source is newer than this program. Nothing was touched. */
export class CopyRefused extends Error {
  override readonly name = 'CopyRefused';

  constructor(why: string, remedy: string) {
    super(`${why}; nothing was touched. ${remedy}`);
  }
}

/**
 * Copies a mirror from one snapshot into an empty database, in one transaction there. The copy is on hold (markCopied).
 * @param options `source` has this version, and is reached past a pooler; `schema` is MIRROR_SCHEMA of both
 * @returns when the snapshot was taken, by the source's clock (ISO 8601); rows, in all and by table (`state.scope`)
 * @throws CopyRefused; DatabaseUnavailable, Unusable; the signal's reason
 */
export async function copyMirror(
  options: Readonly<Record<'source' | 'target', ConnectionOptions>> & {
    readonly schema: string;
    readonly signal: AbortSignal;
    readonly onBytes: (table: string, bytes: number) => void;
  },
) {
  const { source, target, schema, signal, onBytes } = options;
  await resolveConnection(target).catch(ofTarget);
  return inTransaction({ ...target, schema }, 'read committed', signal, async (to) => {
    if (!(await migrateEmpty(to.db, MIGRATIONS).catch(ofTarget))) {
      throw new CopyRefused(
        `the target already has a mirror in schema "${schema}" (is it the source itself?)`,
        'Copy into an empty database',
      );
    }
    // The rows that migrations inserted come from the source, too.
    for (const table of COPIED_TABLES) await to.db.raw(`truncate ${copiedName(to.db, table)}`);
    const report = await inTransaction({ ...source, schema }, 'repeatable read, read only', signal, (from) =>
      copyTables(from, to, onBytes),
    );
    await extendRestoredViews(to.db);
    for (const table of COPIED_TABLES) await to.db.raw(`analyze ${copiedName(to.db, table)}`);
    await markCopied(to.db, endpointHost(target.url, target.variables));
    await ensureGrants(to.db);
    return report;
  });
}

/** Rephrases an error as the target's, with the target's settings. Its message includes the causes. @throws always */
function ofTarget(error: unknown): never {
  if (!(error instanceof ClassifiedError)) throw error;
  const told = messageOf(error).replaceAll('DATABASE_URL', 'MIRROR_COPY_TO');
  throw new Unusable(`the target: ${told.replaceAll('MIRROR_DATA_DIR', '--data-dir')}`);
}

async function copyTables(from: CopyConnection, to: CopyConnection, onBytes: (table: string, bytes: number) => void) {
  const takenAt = (await databaseTime(from.db)).toISOString();
  const unknown = await unknownMigrations(from.db, MIGRATIONS);
  if (unknown.length > 0) {
    const which = unknown.join(', ');
    throw new CopyRefused(`the mirror is newer than this program (${which})`, 'Copy it with the newer program');
  }
  const tables: Record<string, number> = {};
  for (const table of COPIED_TABLES) {
    const name = `${table.schema}.${table.name}`;
    const found = await copiedColumns(from.db, table);
    const target = copiedName(to.db, table);
    const there = new Set((await copiedColumns(to.db, table)).map(({ name: column }) => column));
    // The mirror's tables may have columns that migrations do not make. State columns that the target lacks are dropped
    // by a migration as soon as no older program runs.
    const missing = table.schema === 'mirror' ? found.filter((column) => !there.has(column.name)) : [];
    for (const { name: column, type, comment } of missing) {
      const adding = to.db.raw(`alter table ${target} add column ${quotedName(column)} ${type}`);
      await adding.catch((cause: unknown) => {
        const what = `can't add your column ${target}.${column} to the target. Create its type there first`;
        throw new Unusable(what, { cause });
      });
      there.add(column);
      if (comment === null) continue;
      await to.db.raw(`comment on column ${target}.${quotedName(column)} is ${quotedText(comment)}`);
    }
    const columns = found.filter((column) => there.has(column.name));
    const names = `(${columns.map((column) => quotedName(column.name)).join(', ')})`;
    const read = `copy ${copiedName(from.db, table)} ${names} to stdout`;
    // No other transaction sees the table before the commit, so its rows can be frozen.
    const write = `copy ${target} ${names} from stdin (freeze)`;
    let bytes = 0;
    const counted = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const piece of pieces) {
        onBytes(name, (bytes += piece.length));
        yield piece;
      }
    };
    const rows = to.client.query(copyFrom(write));
    // At the pace of the slower server.
    await pipeline(from.client.query(copyTo(read)), counted, rows);
    tables[name] = rows.rowCount;
    // The identity columns go on where the source's stopped.
    for (const { name: column, last } of columns.filter((each) => each.last !== null)) {
      await to.db.sql`
        select setval(pg_get_serial_sequence(${target}, ${column})::regclass,
          greatest(${last}::bigint, (select max(${sql.id(column)}) from ${sql.raw(target)})))`;
    }
  }
  return { takenAt, rows: Object.values(tables).reduce((sum, rows) => sum + rows, 0), tables };
}

/** Schema and name, quoted, for SQL and `regclass`. */
export function copiedName(db: Db, { schema, name }: CopiedTable): string {
  return `${quotedName(schema === 'mirror' ? db.schema : db.stateSchema)}.${quotedName(name)}`;
}

/** Columns in their order, except generated ones and second columns. `last`: an identity column's last number. */
export async function copiedColumns(db: Db, table: CopiedTable) {
  const name = copiedName(db, table);
  const { rows } = await db.sql<Record<'name' | 'type', string> & Record<'comment' | 'last', string | null>>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      col_description(a.attrelid, a.attnum) as comment,
      case when a.attidentity <> '' then
        pg_sequence_last_value(pg_get_serial_sequence(${name}, a.attname)::regclass)::text end as last
    from pg_attribute a
    where a.attrelid = ${name}::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      and a.attname <> all(${table.without ?? []}::text[]) and a.attname !~ ${SECOND_COLUMN.source}
    order by a.attnum`;
  return rows;
}

/** A connection in a transaction, shared by Kysely's statements and COPY. */
type CopyConnection = { readonly db: Db; readonly client: pg.Client };

/** A copy may take any time; one that is idle in its transaction for a minute hangs. */
const BOUNDS = 'set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 60000';

/**
 * Runs `work` in a transaction on its own connection; an abort closes it.
 * @param mode of `begin`: isolation level and access
 * @throws DatabaseUnavailable, Unusable; the signal's reason; errors of the work
 */
async function inTransaction<T>(
  options: ConnectionOptions & { readonly schema: string },
  mode: string,
  signal: AbortSignal,
  work: (connection: CopyConnection) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = new pg.Client(await resolveConnection(options));
  // The statement under way, or the next one, reports a broken connection.
  client.on('error', () => {});
  const end = (): void => void client.end().catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  try {
    await client.connect();
    await client.query(`begin isolation level ${mode}; ${PIN_SETTINGS}; ${BOUNDS}`);
    // Kysely runs in this transaction, too.
    const only = { query: client.query.bind(client), release: () => {} };
    const pool = { options: {}, connect: () => Promise.resolve(only), end: () => Promise.resolve() };
    const db = new Db(new Kysely({ dialect: new PostgresDialect({ pool }) }), options.schema);
    const result = await work({ client, db });
    await client.query('commit');
    return result;
  } catch (error) {
    signal.throwIfAborted();
    throw databaseError(error);
  } finally {
    signal.removeEventListener('abort', end);
    await client.end().catch(() => {});
  }
}
