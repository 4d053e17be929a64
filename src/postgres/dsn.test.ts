import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Unusable } from '@research-mirror/runtime/errors';
import { readDsn, systemUser, tlsWays } from './dsn.ts';

describe('readDsn', () => {
  it('fills what the URL leaves out, and nothing else, from libpq’s variables', () => {
    const variables = {
      PGHOST: 'db',
      PGPORT: '6432',
      PGUSER: 'u',
      PGPASSWORD: 'p',
      PGDATABASE: 'd',
      PGSSLMODE: 'require',
    };
    expect(readDsn('postgres://', variables)).toMatchObject({
      host: 'db',
      port: 6432,
      user: 'u',
      password: 'p',
      database: 'd',
      tls: { sslmode: 'require' },
    });
    expect(readDsn('postgres://me:my%40word@other:5433/mine?sslmode=disable', variables)).toMatchObject({
      host: 'other',
      port: 5433,
      user: 'me',
      password: 'my@word',
      database: 'mine',
      tls: { sslmode: 'disable' },
    });
  });

  it.each([
    ['postgres:///mirror?host=/var/run/postgresql', '/var/run/postgresql'],
    ['postgres://me@%2Fvar%2Frun%2Fpostgresql/mirror', '/var/run/postgresql'],
    ['postgresql:///mirror?host=/tmp&port=5433', '/tmp'],
  ])('connects %s by a socket, without TLS', (url, host) => {
    expect(readDsn(url, { PGSSLMODE: 'verify-full' })).toMatchObject({
      host,
      database: 'mirror',
      tls: { sslmode: 'disable' },
    });
  });

  it('takes the last of several values, as libpq does, and session options', () => {
    const url = 'postgres://h/d?sslmode=disable&sslmode=verify-full&options=-c%20work_mem%3D64MB';
    expect(readDsn(url, {})).toMatchObject({
      tls: { sslmode: 'verify-full' },
      options: '-c work_mem=64MB',
    });
    expect(readDsn('postgres://h/d', { PGSSLMINPROTOCOLVERSION: 'TLSv1.3' }).tls).toMatchObject({
      ssl_min_protocol_version: 'TLSv1.3',
    });
  });

  it('reads timeouts as libpq does: seconds, at least two', () => {
    expect(readDsn('postgres://h/d?connect_timeout=1', {}).connectionTimeoutMillis).toBe(2_000);
    expect(readDsn('postgres://h/d', { PGCONNECT_TIMEOUT: '7' }).connectionTimeoutMillis).toBe(7_000);
    expect(readDsn('postgres://h/d?connect_timeout=0', {}).connectionTimeoutMillis).toBeUndefined();
  });

  it('quotes no part of a URL that it can’t read', () => {
    expect(() => readDsn('postgres://me:secret@[broken/d', {})).toThrow(
      /^DATABASE_URL can’t be read as a URL: postgres:\/\/user:password@host:5432\/database$/,
    );
  });
});

it('this process’s user is the database’s user; without a name the error has the remedy', () => {
  expect(systemUser()).toBe(userInfo().username);
  const nameless = (): string => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  };
  expect(() => systemUser(nameless)).toThrow(Unusable);
  expect(() => systemUser(nameless)).toThrow(/put the user into DATABASE_URL, or set PGUSER$/);
});

const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const root = join(folder, 'root.crt');
writeFileSync(root, 'an authority');
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('tlsWays', () => {
  it('gives each sslmode libpq’s meaning', () => {
    expect(tlsWays({ sslmode: 'disable' })).toEqual([false]);
    expect(tlsWays({ sslmode: 'allow' })).toEqual([false, { rejectUnauthorized: false }]);
    expect(tlsWays({ sslmode: 'prefer' })).toEqual([{ rejectUnauthorized: false }, false]);
    expect(tlsWays({})).toEqual(tlsWays({ sslmode: 'prefer' }));
    expect(tlsWays({ sslmode: 'verify-full', sslrootcert: root })).toEqual([{ ca: 'an authority' }]);
    expect(tlsWays({ sslrootcert: 'system' })).toEqual([{}]);
  });

  it('checks the authority but not the name for verify-ca, and for require with a root certificate', () => {
    for (const sslmode of ['verify-ca', 'require']) {
      expect(tlsWays({ sslmode, sslrootcert: root })).toEqual([
        { ca: 'an authority', checkServerIdentity: expect.any(Function) as unknown },
      ]);
    }
  });

  it('names a missing file, and never falls back to less protection', () => {
    expect(() => tlsWays({ sslmode: 'verify-full', sslrootcert: join(folder, 'none') })).toThrow(
      /file that sslrootcert in DATABASE_URL names can't be read: ENOENT/,
    );
    expect(tlsWays({ sslmode: 'verify-full', sslrootcert: root })).toHaveLength(1);
  });

  it('obeys libpq’s other TLS parameters, or refuses their values', () => {
    expect(tlsWays({ sslmode: 'require', sslcrl: root, ssl_min_protocol_version: 'TLSv1.3' })).toEqual([
      { rejectUnauthorized: false, minVersion: 'TLSv1.3' },
    ]);
    expect(tlsWays({ sslmode: 'verify-full', sslrootcert: root, sslcrl: root })).toEqual([
      { ca: 'an authority', crl: 'an authority' },
    ]);
    expect(() => tlsWays({ sslmode: 'verify_full', sslrootcert: root })).toThrow(
      'sslmode has no value "verify_full" (DATABASE_URL, PG…): take disable',
    );
    expect(() => tlsWays({ ssl_min_protocol_version: '1.3' })).toThrow('take TLSv1, TLSv1.1');
    expect(() => tlsWays({ sslnegotiation: 'direct' })).toThrow('needs sslmode=require');
    expect(() => tlsWays({ sslmode: 'require', sslnegotiation: 'Direct' })).toThrow('take postgres, direct');
  });
});
