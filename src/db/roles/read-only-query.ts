import pg from 'pg';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { moreThanReading } from './only-reads.ts';
import { PIN_SETTINGS } from '../connection/pinned-settings.ts';
import { resolveConnection, type ConnectionOptions } from '../connection/pool.ts';
import { breaksConnection, databaseError } from '../connection/sql-state.ts';
import { MOST_MESSAGE_BYTES, watchMessages } from './watch-messages.ts';

export interface ReadOnlyQuery {
  /** One statement, as a user typed it. */
  readonly text: string;
  /** First in the search path. */
  readonly schema: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** Called once, before the rows; without columns for a statement that answers none. */
  readonly onColumns: (columns: readonly ResultColumn[]) => void;
  /** Values in Postgres's own text form, with every digit. `false`: no more rows. */
  readonly onRow: (values: readonly (string | null)[]) => boolean;
  /**
   * Asked after each row and piece: a promise where the receiver has no room now. The server waits until it resolves, so
   * that an answer of any length takes no memory here; where it rejects, the statement ends with that error.
   */
  readonly room?: () => Promise<void> | undefined;
  /** Gets the output of `copy … to stdout` in pieces. An error from it ends the statement. */
  readonly onCopy: (piece: Buffer) => void;
}

export interface ResultColumn {
  readonly name: string;
  readonly kind: 'number' | 'boolean' | 'json' | 'moment' | 'text';
  /** Postgres's OID of the type, which never changes for those that it brings itself; of a domain, its base type's. */
  readonly type: number;
}

/** Postgres refused the statement: its message, for whoever wrote the statement. */
export class StatementRefused extends Error {
  override readonly name = 'StatementRefused';
  readonly state: string;
  /** Of the character at fault, from 1; undefined where Postgres names none. */
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

/** The session's user may do more than read, so no statement is run. */
export class MoreThanReading extends Error {
  override readonly name = 'MoreThanReading';
  /** What else, in words: "is a superuser". */
  readonly may: readonly string[];

  constructor(may: readonly string[]) {
    super(`the database's user ${may.join(', ')}`);
    this.may = may;
  }
}

/**
 * Runs one statement as a user who can only read, on a connection of its own, in a read-only transaction that is
 * rolled back. The extended protocol takes a single statement, so the text can't end the transaction and go on. Times
 * are UTC.
 * @throws MoreThanReading; StatementRefused; DatabaseUnavailable, also when the time is over; the signal's reason
 */
export async function readOnlyQuery(connection: ConnectionOptions, query: ReadOnlyQuery): Promise<void> {
  query.signal.throwIfAborted();
  const config = await resolveConnection(connection);
  const client = new pg.Client(config);
  client.on('error', () => {});
  let pid: number | undefined;
  let ended = false;
  const cancel = (): void => {
    ended = true;
    void (pid === undefined ? client.end() : cancelBackend(config, pid));
  };
  query.signal.addEventListener('abort', cancel, { once: true });
  try {
    await client.connect();
    pid = await beginReadOnly(client, query);
    await run(client, query, cancel);
  } catch (error) {
    query.signal.throwIfAborted();
    if (!ended) throw classified(error, query.timeout);
  } finally {
    query.signal.removeEventListener('abort', cancel);
    await client.end();
  }
}

/** @returns the backend's process ID, by a query: at the start of a connection a pooler gives one of its own */
async function beginReadOnly(client: pg.Client, query: ReadOnlyQuery): Promise<number> {
  await client.query(
    `begin transaction read only; ${PIN_SETTINGS}; set local statement_timeout = ${Math.trunc(query.timeout)}; ` +
      `set local search_path = ${client.escapeIdentifier(query.schema)}, public`,
  );
  // After its first query the transaction can't be made writable.
  const may = await moreThanReading(client, query.schema);
  if (may.length > 0) throw new MoreThanReading(may);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

function run(client: pg.Client, query: ReadOnlyQuery, cancel: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = client.connection.stream;
    let named = false;
    let enough = false;
    const nameColumns = (fields: readonly pg.FieldDef[]): void => {
      if (named) return;
      named = true;
      query.onColumns(
        fields.map(({ name, dataTypeID: type }) => ({ name, kind: KINDS.get(type) ?? 'text', type })),
      );
    };
    const fail = (error: unknown): void => {
      enough = true;
      reject(error);
    };
    watchMessages(socket, MOST_MESSAGE_BYTES, (bytes) => {
      fail(tooLarge(bytes));
      socket.destroy();
    });
    /** Hands something to the receiver. What it throws must not reach the driver, which would leave it to nobody. */
    const give = (hand: () => void): void => {
      // Rows go on coming until the server has stopped.
      if (enough || query.signal.aborted) return;
      try {
        hand();
        const room = enough || socket.isPaused() ? undefined : query.room?.();
        if (room === undefined) return;
        socket.pause();
        room.then(() => socket.resume(), fail);
      } catch (error) {
        fail(error);
      }
    };
    const asText = { getTypeParser: () => (value: string) => value };
    const config = { text: query.text, rowMode: 'array', queryMode: 'extended', types: asText };
    const statement = new CopyingQuery(config as pg.QueryConfig, (piece) => {
      give(() => query.onCopy(piece));
    });
    statement.on('row', (row, result) => {
      give(() => {
        nameColumns(result?.fields ?? []);
        if (query.onRow(row)) return;
        enough = true;
        cancel();
      });
    });
    statement.on('end', (result) => {
      if (!statement.copied) give(() => nameColumns(result.fields ?? []));
      resolve();
    });
    statement.on('error', reject);
    client.query(statement);
  });
}

/** Refused here, in the words of Postgres's own refusals. */
function tooLarge(bytes: number): StatementRefused {
  const mebibytes = (size: number): string => `${Math.ceil(size / 1024 / 1024)} MiB`;
  const error = new pg.DatabaseError(
    `a row of the answer has ${mebibytes(bytes)}, and ${mebibytes(MOST_MESSAGE_BYTES)} is the most that is taken`,
    0,
    'error',
  );
  error.code = '54000';
  error.hint = 'choose fewer columns, or a part of the value: left(column, 1000)';
  return new StatementRefused(error);
}

/** A statement that may be `copy … to stdout`, whose output the driver drops where there is no `handleCopyData`. */
class CopyingQuery extends pg.Query<(string | null)[]> {
  readonly #onPiece: (piece: Buffer) => void;
  copied = false;

  constructor(config: pg.QueryConfig, onPiece: (piece: Buffer) => void) {
    super(config);
    this.#onPiece = onPiece;
  }

  handleCopyData(message: { readonly chunk: Buffer }): void {
    this.copied = true;
    this.#onPiece(message.chunk);
  }
}

/** By type OID, which never changes; all other types are text. */
const KINDS: ReadonlyMap<number, ResultColumn['kind']> = new Map([
  ...[20, 21, 23, 26, 700, 701, 1700].map((oid) => [oid, 'number'] as const),
  [16, 'boolean'],
  ...[114, 3802].map((oid) => [oid, 'json'] as const),
  [1184, 'moment'],
]);

/** Stops the statement at the server, where it would go on after its connection is closed. */
async function cancelBackend(config: pg.ClientConfig, pid: number): Promise<void> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select pg_cancel_backend($1)', [pid]);
  } catch {
    // statement_timeout will end it.
  } finally {
    await client.end();
  }
}

function classified(error: unknown, timeout: number): unknown {
  if (error instanceof MoreThanReading || error instanceof StatementRefused) return error;
  if (!(error instanceof pg.DatabaseError) || breaksConnection(error)) return databaseError(error);
  if (error.code === '57014')
    return new DatabaseUnavailable(`the query took longer than ${timeout / 1000} s`);
  return new StatementRefused(error);
}
