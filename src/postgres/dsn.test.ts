import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { Unusable } from '@research-mirror/runtime/errors';
import { readDsn, systemUser } from './dsn.ts';

describe('readDsn', () => {
  it('takes from libpq’s variables what the URL leaves out, and nothing else', () => {
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

  it('reads timeouts as libpq does: seconds, two at least', () => {
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

it('the user of this process is the database’s, where it has a name; else the remedy is said', () => {
  expect(systemUser()).toBe(userInfo().username);
  const nameless = (): string => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  };
  expect(() => systemUser(nameless)).toThrow(Unusable);
  expect(() => systemUser(nameless)).toThrow(/put the user into DATABASE_URL, or set PGUSER$/);
});
