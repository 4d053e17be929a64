import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Unusable } from '@research-mirror/runtime/errors';
import { readDsn, systemUser, tlsWays } from './dsn.ts';

describe('readDsn', () => {
  it.each([
    ['postgres://', { host: 'db', port: 6432, user: 'u', password: 'p', database: 'd', tls: { sslmode: 'require' } }],
    [
      'postgres://me:my%40word@other:5433/mine?sslmode=disable',
      {
        host: 'other',
        port: 5433,
        user: 'me',
        password: 'my@word',
        database: 'mine',
        tls: { sslmode: 'disable' },
      },
    ],
  ])('fills what %s leaves out, and nothing else, from libpq’s variables', (url, read) => {
    const place = { PGHOST: 'db', PGPORT: '6432', PGDATABASE: 'd', PGSSLMODE: 'require' };
    expect(readDsn(url, { ...place, PGUSER: 'u', PGPASSWORD: 'p' })).toMatchObject(read);
  });

  it.each([
    ['postgres:///mirror?host=/var/run/postgresql', '/var/run/postgresql'],
    ['postgres://me@%2Fvar%2Frun%2Fpostgresql/mirror', '/var/run/postgresql'],
    ['postgresql:///mirror?host=/tmp&port=5433', '/tmp'],
  ])('connects %s by a socket, without TLS', (url, host) => {
    const read = { host, database: 'mirror', tls: { sslmode: 'disable' } };
    expect(readDsn(url, { PGSSLMODE: 'verify-full' })).toMatchObject(read);
  });

  it('takes the last of several values, as libpq does, and session options', () => {
    const url = 'postgres://h/d?sslmode=disable&sslmode=verify-full&options=-c%20work_mem%3D64MB';
    const read = { tls: { sslmode: 'verify-full' }, options: '-c work_mem=64MB' };
    expect(readDsn(url, {})).toMatchObject(read);
    const { tls } = readDsn('postgres://h/d', { PGSSLMINPROTOCOLVERSION: 'TLSv1.3' });
    expect(tls).toMatchObject({ ssl_min_protocol_version: 'TLSv1.3' });
  });

  it.each([
    ['postgres://h/d?connect_timeout=1', {}, 2_000],
    ['postgres://h/d', { PGCONNECT_TIMEOUT: '7' }, 7_000],
    ['postgres://h/d?connect_timeout=0', {}, undefined],
  ])('reads timeouts as libpq does, in seconds, at least two: %s, %j', (url, variables, ms) => {
    expect(readDsn(url, variables).connectionTimeoutMillis).toBe(ms);
  });

  it('quotes no part of a URL that it can’t read', () => {
    expect(() => readDsn('postgres://me:secret@[broken/d', {})).toThrow(
      /^DATABASE_URL is not a valid URL\. Write it as postgres:\/\/user:password@host:5432\/database$/,
    );
  });
});

it('this process’s user is the database’s user; without a name the error has the remedy', () => {
  expect(systemUser()).toBe(userInfo().username);
  const nameless = (): string => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  };
  expect(() => systemUser(nameless)).toThrow(Unusable);
  expect(() => systemUser(nameless)).toThrow(/Put the user into DATABASE_URL, or set PGUSER$/);
});

const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const root = join(folder, 'root.crt');
writeFileSync(root, 'an authority');
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('tlsWays', () => {
  const ca = 'an authority';
  const unchecked = { rejectUnauthorized: false };
  const ofAuthority = { ca, checkServerIdentity: expect.any(Function) as unknown };
  it.each([
    [{ sslmode: 'disable' }, [false]],
    [{ sslmode: 'allow' }, [false, unchecked]],
    [{ sslmode: 'prefer' }, [unchecked, false]],
    [{}, [unchecked, false]],
    [{ sslmode: 'verify-full', sslrootcert: root }, [{ ca }]],
    [{ sslrootcert: 'system' }, [{}]],
    // The authority is checked, and not the name.
    [{ sslmode: 'verify-ca', sslrootcert: root }, [ofAuthority]],
    [{ sslmode: 'require', sslrootcert: root }, [ofAuthority]],
    [
      { sslmode: 'require', sslcrl: root, ssl_min_protocol_version: 'TLSv1.3' },
      [{ ...unchecked, minVersion: 'TLSv1.3' }],
    ],
    [{ sslmode: 'verify-full', sslrootcert: root, sslcrl: root }, [{ ca, crl: ca }]],
  ])('gives %j libpq’s meaning', (parameters, ways) => {
    expect(tlsWays(parameters)).toEqual(ways);
  });

  it.each([
    [
      { sslmode: 'verify-full', sslrootcert: join(folder, 'none') },
      /file of sslrootcert in DATABASE_URL can't be read: ENOENT/,
    ],
    [
      { sslmode: 'verify_full', sslrootcert: root },
      'sslmode (DATABASE_URL, PG…) can’t be "verify_full". Use one of disable',
    ],
    [{ ssl_min_protocol_version: '1.3' }, 'Use one of TLSv1, TLSv1.1'],
    [{ sslnegotiation: 'direct' }, 'needs sslmode=require'],
    [{ sslmode: 'require', sslnegotiation: 'Direct' }, 'Use one of postgres, direct'],
  ])('refuses %j, with the remedy', (parameters, message) => {
    expect(() => tlsWays(parameters)).toThrow(message);
  });
});
