import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { OutcomeUnknown } from '../model/errors.ts';
import { breaksConnection, databaseError, isDatabaseDown, sqlState } from './sql-state.ts';

function postgresError(code: string, message = 'said'): pg.DatabaseError {
  const error = new pg.DatabaseError(message, 0, 'error');
  return Object.assign(error, { code, severity: 'ERROR' });
}

/** An error of the system or of a pooler. */
const otherError = (code: string, message: string, more = {}): Error =>
  Object.assign(new Error(message), { code, ...more });

describe('databaseError', () => {
  it.each(['08006', '53300', '57P01', '57P03', '57014', '55P03', '40001', '25006', '25P03'])('%s may pass', (code) => {
    const error = databaseError(postgresError(code));
    expect(error).toBeInstanceOf(DatabaseUnavailable);
    expect(sqlState(error)).toBe(code);
  });

  it.each([
    ['57014', DatabaseUnavailable, /pg_blocking_pids/],
    ['55P03', DatabaseUnavailable, /pg_blocking_pids/],
    ['53300', DatabaseUnavailable, /max_connections/],
    ['08P01', Error, /pool by transaction/],
    ['28P01', Unusable, /user and password/],
    ['3D000', Unusable, /Create the database/],
    ['42501', Unusable, /docs\/databases\.md/],
    ['42P01', Unusable, /research-mirror migrate/],
  ])('%s has a remedy in its message', (code, kind, remedy) => {
    const error = databaseError(postgresError(code));
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toMatch(remedy);
  });

  it.each(['23505', '22P02', '22003', '42601'])('%s is left to the caller', (code) => {
    const error = postgresError(code);
    expect(databaseError(error)).toBe(error);
    expect(breaksConnection(error)).toBe(false);
  });

  it.each([
    [new AggregateError([otherError('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1')], ''), DatabaseUnavailable, ''],
    [new Error('Connection terminated unexpectedly'), DatabaseUnavailable, ''],
    [otherError('EPIPE', 'write EPIPE'), Error, /the other end closed.*the log of.*\(write EPIPE\)$/],
    [otherError('ECONNRESET', 'write ECONNRESET'), Error, /the other end closed.*the log of.*\(write ECONNRESET\)$/],
    [
      otherError('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'),
      Error,
      /certificate is not trusted .* sslrootcert/,
    ],
    [
      otherError('08P01', 'transaction blocks not allowed', { severity: 'ERROR' }),
      Error,
      'A pooler in front of the database',
    ],
  ])('tells what a network, a certificate or a pooler did: %s', (given, kind, words) => {
    const error = databaseError(given);
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toMatch(words);
  });

  it.each([
    // PostgreSQL's own, about a statement: no pooler's.
    otherError('08P01', 'bind message supplies 0 parameters', {
      severity: 'ERROR',
      routine: 'exec_bind_message',
    }),
    new TypeError('x is not a function'),
  ])('leaves a defect of ours alone: %s', (defect) => {
    expect(databaseError(defect)).toBe(defect);
  });
});

describe('isDatabaseDown', () => {
  it.each([
    ['57P01', true],
    ['08006', true],
    ['57014', false],
    ['25006', false],
  ])('%s: %s, also as the cause of an unknown outcome', (code, isDown) => {
    const error = databaseError(postgresError(code));
    expect(isDatabaseDown(error)).toBe(isDown);
    expect(isDatabaseDown(new OutcomeUnknown('a commit was not answered', { cause: error }))).toBe(isDown);
  });
});
