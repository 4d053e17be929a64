import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { OutcomeUnknown } from '../model/errors.ts';
import { breaksConnection, databaseError, isDatabaseDown, sqlState } from './sql-state.ts';

function postgresError(code: string, message = 'said'): pg.DatabaseError {
  const error = new pg.DatabaseError(message, 0, 'error');
  return Object.assign(error, { code, severity: 'ERROR' });
}

describe('databaseError', () => {
  it.each(['08006', '53300', '57P01', '57P03', '57014', '55P03', '40001', '25006', '25P03'])(
    '%s may pass',
    (code) => {
      const error = databaseError(postgresError(code));
      expect(error).toBeInstanceOf(DatabaseUnavailable);
      expect(sqlState(error)).toBe(code);
    },
  );

  it.each([
    ['57014', /pg_blocking_pids/],
    ['55P03', /pg_blocking_pids/],
    ['08P01', /pool by transaction/],
    ['53300', /max_connections/],
  ])('%s has a remedy in its message', (code, remedy) => {
    expect((databaseError(postgresError(code)) as Error).message).toMatch(remedy);
  });

  it.each([
    ['28P01', /user and password/],
    ['3D000', /create the database/],
    ['42501', /docs\/operations\.md/],
    ['42P01', /research-mirror migrate/],
  ])('%s needs a person: the message says what to do', (code, remedy) => {
    const error = databaseError(postgresError(code));
    expect(error).toBeInstanceOf(Unusable);
    expect((error as Error).message).toMatch(remedy);
  });

  it.each(['23505', '22P02', '22003', '42601'])('%s is left to the caller', (code) => {
    const error = postgresError(code);
    expect(databaseError(error)).toBe(error);
    expect(breaksConnection(error)).toBe(false);
  });

  it('says that a network’s failures may pass, and that untrusted certificates need a person', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
    expect(databaseError(new AggregateError([refused], ''))).toBeInstanceOf(DatabaseUnavailable);
    expect(databaseError(new Error('Connection terminated unexpectedly'))).toBeInstanceOf(
      DatabaseUnavailable,
    );
    const untrusted = Object.assign(new Error('self-signed certificate'), {
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    expect((databaseError(untrusted) as Error).message).toMatch(/certificate is not trusted .* sslrootcert/);
  });

  it('says where to look if a connection ended before its reason was read', () => {
    for (const code of ['EPIPE', 'ECONNRESET']) {
      const error = Object.assign(new Error(`write ${code}`), { code });
      expect(databaseError(error)).toMatchObject({
        message: expect.stringMatching(`ended at its other end.*the log of.*\\(write ${code}\\)$`) as string,
      });
    }
  });

  it('blames a pooler for its own errors, not for PostgreSQL’s errors about a statement', () => {
    const words = { code: '08P01', severity: 'ERROR' };
    const ofPooler = Object.assign(new Error('transaction blocks not allowed'), words);
    expect((databaseError(ofPooler) as Error).message).toContain('a pooler in front of the database');
    const own = Object.assign(new Error('bind message supplies 0 parameters'), words, {
      routine: 'exec_bind_message',
    });
    expect(databaseError(own)).toBe(own);
  });

  it('leaves a defect of ours alone', () => {
    const defect = new TypeError('x is not a function');
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
