import { DatabaseUnavailable, ClassifiedError, Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { OutcomeUnknown } from '../model/errors.ts';

/** The SQLSTATE of an error of PostgreSQL, classified or not; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return serverError(error)?.code;
}

/** The server's error in a chain of causes. `where` lists the functions in which it happened. */
function serverError(error: unknown): { readonly code: string; readonly where?: string } | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const found = at as Error & { readonly code: string; readonly where?: string };
    if ('severity' in at && /^[0-9A-Z]{5}$/.test(nodeCode(at))) return found;
  }
  return undefined;
}

/** Node's code, such as `ECONNREFUSED`, or a SQLSTATE; '' without one. */
function nodeCode(error: unknown): string {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

/** Whether Postgres refuses a value and always will: out of bounds, or nested too deeply. */
export function isRefusedValue(error: unknown): boolean {
  return /^(22|54)/.test(sqlState(error) ?? '');
}

/** Errors that may pass: connections, resources, a server that stops or starts, time-outs, races. */
const TRANSIENT = /^(08...|53...|57P0.|57014|25P0[34]|25006|55P03|40001|40P01|58...|XX000)$/;

/**
 * Refusals that concern the whole database, not rows or a table's trigger: disk, memory, connections (53), read-only
 * (25006), files (58, XX001, XX002), and missing schemas, tables, columns, functions or rights.
 */
const WHOLE_DATABASE = /^(53...|25006|58...|XX00[12]|3F000|42P01|42703|42883|42501)$/;

const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/^(57014|55P03)$/, 'Find the session that holds the lock: pg_stat_activity, pg_blocking_pids()'],
  [/^53300$/, 'End sessions that are not needed, or raise max_connections'],
  // Poolers use this code for most of their own errors.
  [/^08P01$/, 'A pooler in front of the database must pool by transaction or by session, not by statement'],
  [/^53100$/, 'Free space on the disk of the database’s server'],
  [/^25006$/, 'Point DATABASE_URL to a server that accepts writes'],
  [/^28/, 'Check user and password in DATABASE_URL (or PGUSER, PGPASSWORD), and the server’s pg_hba.conf'],
  [/^3D000$/, 'Create the database, or correct its name in DATABASE_URL'],
  [
    /^42501$/,
    'Grant the missing right to the database’s user (rights that it needs: docs/databases.md, "Embedded or your own")',
  ],
  [/^(42P01|42703|42883|3F000)$/, 'Run "research-mirror migrate": it migrates the database, or says what is missing'],
];

/** Meaning of a driver's error that has neither Node's code nor a SQLSTATE. */
type DriverProblem = 'connection' | 'line' | 'unanswered' | 'tls' | 'no-tls' | 'no-password' | 'sign-in';

/** Problems that a person must fix. The others may pass. */
const LASTING = new Set<DriverProblem | undefined>(['no-tls', 'no-password', 'sign-in']);

/**
 * Texts of pg and pg-pool at the pinned versions, always in English; a test provokes each (driver-texts.test.ts). The
 * server's texts are in its language and never read. Unclear texts get our own words. `line`: all connections of pg's
 * pool were in use for too long. `unanswered`: the wait was given up, and the server may still be working.
 */
const TEXTS: readonly (readonly [RegExp, DriverProblem, words?: string])[] = [
  [/^Connection terminated( unexpectedly| due to connection timeout)?$/, 'connection'],
  [/^timeout expired$/, 'connection'],
  [/^Client (was closed|has encountered a connection error) and is not queryable$/, 'connection'],
  [/^timeout exceeded when trying to connect$/, 'line'],
  [
    /^Query read timeout$/,
    'unanswered',
    'no answer came in time: a pooler lets too few sessions through (a program opens 18 at most), the network drops packets, or the server hangs',
  ],
  [
    /^The server does not support SSL connections$/,
    'no-tls',
    'the database does not support TLS, but sslmode in DATABASE_URL requires it',
  ],
  [/^There was an error establishing an SSL connection$/, 'tls'],
  [
    /client password must be a (non-empty )?string$/,
    'no-password',
    'the database requires a password, and none is set. Put it into DATABASE_URL, PGPASSWORD or ~/.pgpass',
  ],
  [
    /^SASL: /,
    'sign-in',
    "the database's authentication method can't be used (REASON). Change password_encryption or pg_hba.conf on the server",
  ],
];

function driverText(error: unknown): (typeof TEXTS)[number] | undefined {
  return error instanceof Error ? TEXTS.find(([text]) => text.test(error.message)) : undefined;
}

/** @returns undefined: the error is not the driver's */
export function driverProblem(error: unknown): DriverProblem | undefined {
  return driverText(error)?.[1];
}

/**
 * Classifies an error (model/errors.ts): DatabaseUnavailable if it may pass, Unusable if a person must fix something.
 * Any other, such as a violated constraint, is returned as it is. `sqlState` reads the code of all of them.
 */
export function databaseError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ClassifiedError) return error;
  const state = sqlState(error);
  if (state === undefined) return connectionError(error);
  // PostgreSQL itself, since poolers send no `routine`: a statement lacks values.
  if (state === '08P01' && 'routine' in error && error.routine !== undefined) return error;
  const remedy = REMEDIES.find(([pattern]) => pattern.test(state))?.[1];
  const todo = remedy === undefined ? '' : `. ${remedy}`;
  if (TRANSIENT.test(state)) {
    const said = `the database can't do it now (${serverWords(error)})${todo}`;
    return new DatabaseUnavailable(said, { cause: error });
  }
  if (remedy === undefined) return error;
  return new Unusable(`the database refuses (${serverWords(error)})${todo}`, { cause: error });
}

/** Classifies an error that the server did not send. Its last words may be lost with the connection. */
function connectionError(error: Error): unknown {
  // If all addresses of a host failed, Node's error has no message, but the first address's error has one.
  const first: unknown = error instanceof AggregateError && error.message === '' ? error.errors[0] : error;
  const reason = messageOf(first);
  if (/CERT|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_/.test(nodeCode(error))) {
    return new Unusable(
      `the database's certificate is not trusted (${reason}). Set sslrootcert to the file of its authority, or change sslmode in DATABASE_URL`,
      { cause: error },
    );
  }
  const [, problem, words] = driverText(error) ?? [];
  const isHungUp = /^(EPIPE|ECONNRESET)$/.test(nodeCode(first));
  const said = words?.replace('REASON', () => reason) ?? (isHungUp ? `${HUNG_UP} (${reason})` : reason);
  if (LASTING.has(problem)) return new Unusable(said);
  if (!isConnectionProblem(error)) return error;
  return new DatabaseUnavailable(`the database can't be reached: ${said}`, { cause: error });
}

const HUNG_UP =
  'the other end closed the connection; the log of the PostgreSQL server, or of a pooler in front of it, says why';

/** Whether Postgres refused for a reason that concerns the whole database, not a row or a table's own rules. */
export function concernsWholeDatabase(error: unknown): boolean {
  return refusalIn(failureMessage(error))?.whole === true;
}

/** A table or right may be missing to a user's trigger only. */
const FUNCTION_NOTE = ', in a function or trigger';

/** SQLSTATE and message of the server's error. */
function serverWords(error: Error): string {
  const { code = '', where } = serverError(error) ?? {};
  return `${code} ${error.message}${where !== undefined && /^(42|3F)/.test(code) ? FUNCTION_NOTE : ''}`;
}

/** The message of a failure as it is stored. Postgres's own refusals are marked. */
export function failureMessage(error: unknown): string {
  const own = error instanceof Error && !(error instanceof ClassifiedError) && sqlState(error) !== undefined;
  return own ? `the database refuses (${serverWords(error)})` : messageOf(error);
}

/** Postgres's refusal in a stored message, which may quote one list's for several; undefined: there is none. */
export function refusalIn(message: string): { readonly why: string; readonly whole: boolean } | undefined {
  const found =
    /^(?:\d+ lists could not be read, the last one: )?(the database (?:refuses|can't do it now) \((\w{5}) .*)$/s.exec(
      message,
    );
  return found === null
    ? undefined
    : { why: found[1] ?? '', whole: WHOLE_DATABASE.test(found[2] ?? '') && !message.includes(FUNCTION_NOTE) };
}

/** Whether the connection can't be used after this error: its state at the server is unknown. */
export function breaksConnection(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? isConnectionProblem(error) : /^(08...|57P0.|25P0[34])$/.test(state);
}

/** Whether the session is read-only. It stays so after the setting is reverted or another server is the primary. */
export function isReadOnlySession(error: unknown): boolean {
  return sqlState(error) === '25006';
}

/** Whether nothing reaches the database. False: it refused something. */
export function isDatabaseDown(error: unknown): boolean {
  if (error instanceof OutcomeUnknown) return isDatabaseDown(error.cause);
  return error instanceof DatabaseUnavailable && /^(08...|57P0.)?$/.test(sqlState(error) ?? '');
}

/** Whether it is an error of Node's sockets or resolver, or of pg's connection. */
function isConnectionProblem(error: unknown): boolean {
  if (/^E(?!RR_)[A-Z_]+$/.test(nodeCode(error))) return true;
  if (error instanceof AggregateError) return error.errors.some(isConnectionProblem);
  const problem = driverProblem(error);
  return problem !== undefined && !LASTING.has(problem);
}
