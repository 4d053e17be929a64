import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { tlsWays } from './dsn.ts';

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

  it('names a file that is not there, and never falls back to less protection', () => {
    expect(() => tlsWays({ sslmode: 'verify-full', sslrootcert: join(folder, 'none') })).toThrow(
      /file that sslrootcert in DATABASE_URL names can't be read: ENOENT/,
    );
    expect(tlsWays({ sslmode: 'verify-full', sslrootcert: root })).toHaveLength(1);
  });

  it('obeys what else libpq promises about TLS, or refuses it', () => {
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
