/** What an error of the driver means that has neither a code of Node's nor a SQLSTATE. */
export type DriverProblem = 'connection' | 'no-tls' | 'tls' | 'no-password' | 'sign-in';

/**
 * The texts of pg, pg-pool and Kysely at the pinned versions, which they never translate; each is provoked by a test
 * (driver-texts.test.ts). A server's texts are in its own language: they are never looked at.
 */
const TEXTS: readonly (readonly [RegExp, DriverProblem])[] = [
  [/^Connection terminated( unexpectedly| due to connection timeout)?$/, 'connection'],
  [/^timeout expired$/, 'connection'],
  [/^timeout exceeded when trying to connect$/, 'connection'],
  [/^Query read timeout$/, 'connection'],
  [/^Postgres connection has been discarded$/, 'connection'],
  [/^Client (was closed|has encountered a connection error) and is not queryable$/, 'connection'],
  [/^The server does not support SSL connections$/, 'no-tls'],
  [/^There was an error establishing an SSL connection$/, 'tls'],
  [/client password must be a (non-empty )?string$/, 'no-password'],
  [/^SASL: /, 'sign-in'],
];

/** @returns undefined for an error that is not one of the driver's */
export function driverProblem(error: unknown): DriverProblem | undefined {
  if (!(error instanceof Error)) return undefined;
  return TEXTS.find(([text]) => text.test(error.message))?.[1];
}
