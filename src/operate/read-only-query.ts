import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { sql } from 'kysely';
import pg from 'pg';
import type { Duplex } from 'node:stream';
import { openDatabase } from '../postgres/pool.ts';
import { type Db, quotedText } from '../postgres/db.ts';
import { type ConnectionOptions, onConnection, PIN_SETTINGS, resolveConnection } from '../postgres/pool.ts';
import { makeRoles } from '../postgres/roles.ts';
import { breaksConnection, databaseError } from '../postgres/sql-state.ts';

/** Most bytes of one message of the server, such as a row. */
const MOST_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Type (one byte) and length (four, which include themselves). */
const HEADER_BYTES = 5;

/**
 * Calls `onTooLarge` when a message announces more than `most` bytes: the driver buffers each message whole, twice.
 * @param stream at a boundary between two messages
 */
export function watchMessages(stream: Duplex, most: number, onTooLarge: (bytes: number) => void): void {
  /** An incomplete header. */
  let header: Buffer = Buffer.alloc(0);
  /** Bytes of the message's body that are still to come. */
  let rest = 0;
  const onData = (chunk: Buffer): void => {
    let left = header.length === 0 ? chunk : Buffer.concat([header, chunk]);
    for (;;) {
      const body = Math.min(rest, left.length);
      rest -= body;
      header = left.subarray(body);
      if (header.length < HEADER_BYTES) return;
      rest = Math.max(0, header.readUInt32BE(1) - 4);
      left = header.subarray(HEADER_BYTES);
      if (rest > most) {
        stream.off('data', onData);
        onTooLarge(rest);
        return;
      }
    }
  };
  stream.prependListener('data', onData);
}

/** PostgreSQL's roles whose members see more of the server and can change nothing. */
const HARMLESS = ['pg_monitor', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables'];

/**
 * What the session's user may do beyond reading the mirror, in words, itself or as any role that it may become: a
 * statement can undo SET ROLE. A read-only transaction does not forbid programs, files, replication slots or signals.
 * Parameters: the schema, and the harmless roles.
 */
const MORE_THAN_READING = `
  with roles as materialized (
    select * from pg_roles where pg_has_role(session_user, oid, 'member') and (rolname <> 'pg_database_owner'
      or exists (select from pg_database where datname = current_database() and pg_has_role(session_user, datdba, 'member')))),
  schemas as materialized (select oid, nspname, nspowner, nspname <> $1 as own from pg_namespace where nspname in ($1, $1 || '_sync')),
  relations as materialized (
    select c.oid, c.relowner from pg_class c join schemas s on s.oid = c.relnamespace
    where not s.own and c.relkind in ('r', 'p', 'v', 'm', 'f')),
  functions as materialized (
    select p.oid, p.proowner, p.proname, p.prosecdef from pg_proc p join schemas s on s.oid = p.pronamespace where not s.own),
  superuser as (select exists (select from pg_roles where rolname = session_user and rolsuper) as yes)
  select 'is a superuser' as what from superuser where yes
  union all
  select what from superuser, lateral (
    select 'can become the superuser ' || rolname as what from roles where rolsuper
    union all select 'can create roles' from roles where rolcreaterole
    union all select 'can create databases' from roles where rolcreatedb
    union all select 'can replicate' from roles where rolreplication
    union all select 'is a member of ' || rolname from roles where starts_with(rolname, 'pg_') and rolname <> all($2::text[])
    union all select 'owns the schema ' || nspname from schemas where nspowner in (select oid from roles)
    union all select 'owns tables of the mirror' from relations where relowner in (select oid from roles)
    union all select 'owns functions of the mirror' from functions where proowner in (select oid from roles)
    union all select 'can create objects in the schema ' || nspname from schemas, roles where has_schema_privilege(roles.oid, schemas.oid, 'create')
    union all select 'can use the schema ' || nspname from schemas, roles
      where own and has_schema_privilege(roles.oid, schemas.oid, 'usage')
    union all select 'can write tables of the mirror' from relations, roles
      where has_table_privilege(roles.oid, relations.oid, 'insert, update, delete, truncate')
        or has_any_column_privilege(roles.oid, relations.oid, 'insert, update')
    union all select 'can call ' || proname from functions, roles
      where prosecdef and has_function_privilege(roles.oid, functions.oid, 'execute')
  ) as found where not superuser.yes
  group by what order by what`;

/** Receives a query's answer row by row. */
export interface RowReceiver {
  /** Called once, before the rows; without columns if the statement returns none. */
  columns(columns: readonly ResultColumn[]): void;
  /** Values in Postgres's text form, with every digit. Returns whether it wants more rows. */
  row(values: readonly (string | null)[]): boolean;
  /** Called after each row. The server waits for the promise, so that an answer of any length takes no memory here. */
  room?(): Promise<void> | undefined;
}

/** `schema`: first in the search path; `timeout`: milliseconds. */
interface ReadOnlyQuery extends Readonly<Record<'text' | 'schema', string>> {
  readonly timeout: number;
  readonly signal: AbortSignal;
  readonly receiver: RowReceiver;
}

/** `type`: Postgres's OID, of a domain its base type's. OIDs of built-in types never change. */
export interface ResultColumn {
  readonly name: string;
  readonly kind: 'number' | 'boolean' | 'json' | 'moment' | 'text';
  readonly type: number;
}

/** Postgres refused the statement. */
export class StatementRefused extends Error {
  override readonly name = 'StatementRefused';
  readonly state: string;
  /** Of the wrong character, from 1. */
  readonly position: number | undefined;
  readonly hint: string | undefined;

  constructor(error: pg.DatabaseError) {
    const detail = error.detail === undefined ? '' : ` (${error.detail})`;
    super(`${error.message}${detail}`, { cause: undefined });
    this.state = error.code ?? '';
    this.position = error.position === undefined ? undefined : Number(error.position);
    this.hint = error.hint;
  }
}

/**
 * Runs one statement as a user who can only read, in a read-only transaction that is rolled back. The extended protocol
 * accepts a single statement, so the text can't end the transaction. Times are UTC.
 * @returns undefined if it was run; otherwise what its user may do beyond reading: "the database's user is a superuser"
 * @throws StatementRefused; DatabaseUnavailable, also after `timeout`; the signal's reason
 */
export async function readOnlyQuery(connection: ConnectionOptions, query: ReadOnlyQuery) {
  query.signal.throwIfAborted();
  const config = await resolveConnection(connection);
  const client = new pg.Client(config);
  client.on('error', () => {});
  let pid: number | undefined;
  let ended = false;
  const cancel = (): void => {
    ended = true;
    // Canceled at the server, where it would go on after the connection is closed. Otherwise statement_timeout ends it.
    const stop = (other: pg.Client): Promise<unknown> => other.query('select pg_cancel_backend($1)', [pid]);
    void (pid === undefined ? client.end() : onConnection(config, stop).catch(() => {}));
  };
  query.signal.addEventListener('abort', cancel, { once: true });
  try {
    await client.connect();
    await client.query(
      `begin transaction read only; ${PIN_SETTINGS}; set local statement_timeout = ${Math.trunc(query.timeout)}; ` +
        `set local search_path = ${client.escapeIdentifier(query.schema)}, public`,
    );
    // The transaction can't be made writable after its first query.
    const may = await client.query<{ what: string }>(MORE_THAN_READING, [query.schema, HARMLESS]);
    if (may.rows.length > 0) return `the database's user ${may.rows.map(({ what }) => what).join(', ')}`;
    // A pooler reports a process ID of its own at the start of a connection.
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    pid = rows[0]?.pid ?? 0;
    await run(client, query, cancel);
    return undefined;
  } catch (error) {
    query.signal.throwIfAborted();
    if (ended) return undefined;
    if (error instanceof StatementRefused) throw error;
    if (!(error instanceof pg.DatabaseError) || breaksConnection(error)) throw databaseError(error);
    if (error.code !== '57014') throw new StatementRefused(error);
    throw new DatabaseUnavailable(`the query took longer than ${query.timeout / 1000} s`);
  } finally {
    query.signal.removeEventListener('abort', cancel);
    await client.end();
  }
}

function run(client: pg.Client, query: ReadOnlyQuery, cancel: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = client.connection.stream;
    let named = false;
    let enough = false;
    const nameColumns = (fields: readonly pg.FieldDef[]): void => {
      if (named) return;
      named = true;
      query.receiver.columns(
        fields.map(({ name, dataTypeID: type }) => ({ name, kind: KINDS.get(type) ?? 'text', type })),
      );
    };
    const fail = (error: unknown): void => {
      enough = true;
      reject(error);
    };
    watchMessages(socket, MOST_MESSAGE_BYTES, (bytes) => {
      const [size, most] = [bytes, MOST_MESSAGE_BYTES].map((each) => `${Math.ceil(each / 1024 / 1024)} MiB`);
      const what = `a row of the answer has ${size}; the limit is ${most}`;
      fail(refusedHere(what, '54000', 'select fewer columns, or part of the value: left(column, 1000)'));
      socket.destroy();
    });
    /** Calls the receiver. Its errors must not reach the driver, which would lose them. */
    const give = (hand: () => void): void => {
      // Rows keep coming until the server has stopped.
      if (enough || query.signal.aborted) return;
      try {
        hand();
        const room = enough || socket.isPaused() ? undefined : query.receiver.room?.();
        if (room === undefined) return;
        socket.pause();
        room.then(() => socket.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    const asText = { getTypeParser: () => (value: string) => value };
    const config = { text: query.text, rowMode: 'array', queryMode: 'extended', types: asText };
    const statement = new pg.Query<(string | null)[]>(config as pg.QueryConfig);
    statement.on('row', (row, result) => {
      give(() => {
        nameColumns(result?.fields ?? []);
        if (query.receiver.row(row)) return;
        enough = true;
        cancel();
      });
    });
    statement.on('end', (result) => {
      if (result.command === 'COPY') fail(NO_COPY);
      give(() => nameColumns(result.fields ?? []));
      resolve();
    });
    statement.on('error', reject);
    client.query(statement);
  });
}

/** A refusal by this program, in the form of Postgres's. */
function refusedHere(message: string, code: string, hint: string): StatementRefused {
  return new StatementRefused(Object.assign(new pg.DatabaseError(message, 0, 'error'), { code, hint }));
}

/** The driver drops what COPY sends instead of rows. */
const NO_COPY = refusedHere('copy … to stdout returns no rows', '0A000', 'use SELECT; --csv prints CSV');

/** By type OID; the default is text. */
const KINDS: ReadonlyMap<number, ResultColumn['kind']> = new Map([
  ...[20, 21, 23, 26, 700, 701, 1700].map((oid) => [oid, 'number'] as const),
  [16, 'boolean'],
  ...[114, 3802].map((oid) => [oid, 'json'] as const),
  [1184, 'moment'],
]);

/** The login of the command `sql`, made by the program or by a DBA. */
export function sqlLogin(schema: string): string {
  return `${schema}_sql`;
}

/** Its most connections, and the default bound of its statements. */
const LOGIN_CONNECTIONS = 20;
const LOGIN_TIMEOUT = '60s';

/** Makes the login of `sql`: a member of `<schema>_reader` that can become no other role. @param db of a superuser */
async function makeSqlLogin(db: Db, password: string): Promise<void> {
  const login = sql.id(sqlLogin(db.schema));
  await db.transaction(async (trx) => {
    // Two commands may start at once. Only a superuser can take this lock; anyone could take an advisory lock.
    await trx.sql`lock table pg_authid in share row exclusive mode`;
    await makeRoles(trx);
    const { rows } = await trx.sql`select 1 from pg_roles where rolname = ${sqlLogin(trx.schema)}`;
    if (rows.length === 0) await trx.sql`create role ${login}`;
    await trx.sql`alter role ${login} login nosuperuser nocreatedb nocreaterole noreplication
      connection limit ${sql.raw(String(LOGIN_CONNECTIONS))} password ${sql.raw(quotedText(password))}`;
    await trx.sql`alter role ${login} set default_transaction_read_only = on`;
    await trx.sql`alter role ${login} set statement_timeout = ${sql.raw(quotedText(LOGIN_TIMEOUT))}`;
    const { rows: servers } = await trx.sql<{ major: number }>`
      select current_setting('server_version_num')::int / 10000 as major`;
    // PostgreSQL 15 has no such options: there the login could become the group, which may only read, too.
    const options = (servers[0]?.major ?? 0) >= 16 ? sql` with inherit true, set false` : sql``;
    await trx.sql`grant ${sql.id(`${trx.schema}_reader`)} to ${login}${options}`;
  });
}

/** Statements for a DBA where the program does not make the login; the password is left out. */
export function sqlLoginByHand(schema: string): string {
  return (
    `create role ${sqlLogin(schema)} login password '…' connection limit ${LOGIN_CONNECTIONS} in role ${schema}_reader; ` +
    `alter role ${sqlLogin(schema)} set default_transaction_read_only = on;`
  );
}

/** The URL of the login that only reads, made on first use. @param url of the superuser @param password of the login */
export async function readerUrl(url: string, password: string, schema: string, program: string) {
  const reader = new URL(url);
  reader.username = sqlLogin(schema);
  reader.password = password;
  // If it does not exist, or has another password, it is made again, which fails with the actual problem.
  const query = `select pg_has_role(oid, 'usage') as reader from pg_roles where rolname = $1`;
  const found = await onConnection({ connectionString: reader.href, ssl: false }, (client) =>
    client.query<{ reader: boolean | null }>(query, [`${schema}_reader`]),
  ).catch(() => undefined);
  if (found?.rows[0]?.reader === true) return reader.href;
  const database = await openDatabase({ url, schema, program, max: 1 });
  try {
    await makeSqlLogin(database.db, password);
  } finally {
    await database.close();
  }
  return reader.href;
}
