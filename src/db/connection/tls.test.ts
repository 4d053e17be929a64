import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { tlsPlan } from './tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const root = join(folder, 'root.crt');
writeFileSync(root, 'an authority');
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('tlsPlan', () => {
  it('gives each sslmode libpq’s meaning', () => {
    expect(tlsPlan({ sslmode: 'disable' })).toEqual({ first: false });
    expect(tlsPlan({ sslmode: 'allow' })).toEqual({ first: false, otherwise: { rejectUnauthorized: false } });
    expect(tlsPlan({ sslmode: 'prefer' })).toEqual({
      first: { rejectUnauthorized: false },
      otherwise: false,
    });
    expect(tlsPlan({})).toEqual(tlsPlan({ sslmode: 'prefer' }));
    expect(tlsPlan({ sslmode: 'verify-full', sslrootcert: root })).toEqual({ first: { ca: 'an authority' } });
    expect(tlsPlan({ sslrootcert: 'system' })).toEqual({ first: {} });
  });

  it('checks the authority but not the name for verify-ca, and for require with a root certificate', () => {
    for (const sslmode of ['verify-ca', 'require']) {
      expect(tlsPlan({ sslmode, sslrootcert: root })).toEqual({
        first: { ca: 'an authority', checkServerIdentity: expect.any(Function) as unknown },
      });
    }
  });

  it('names a file that is not there, and never falls back to less protection', () => {
    expect(() => tlsPlan({ sslmode: 'verify-full', sslrootcert: join(folder, 'none') })).toThrow(
      /file that sslrootcert in DATABASE_URL names can't be read: ENOENT/,
    );
    expect(tlsPlan({ sslmode: 'verify-full', sslrootcert: root }).otherwise).toBeUndefined();
  });

  it('obeys what else libpq promises about TLS, or refuses it', () => {
    expect(tlsPlan({ sslmode: 'require', sslcrl: root, ssl_min_protocol_version: 'TLSv1.3' })).toEqual({
      first: { rejectUnauthorized: false, minVersion: 'TLSv1.3' },
    });
    expect(tlsPlan({ sslmode: 'verify-full', sslrootcert: root, sslcrl: root })).toEqual({
      first: { ca: 'an authority', crl: 'an authority' },
    });
    expect(() => tlsPlan({ sslmode: 'verify_full', sslrootcert: root })).toThrow(
      'sslmode has no value "verify_full" (DATABASE_URL, PG…): take disable',
    );
    expect(() => tlsPlan({ ssl_min_protocol_version: '1.3' })).toThrow('take TLSv1, TLSv1.1');
    expect(() => tlsPlan({ sslnegotiation: 'direct' })).toThrow('needs sslmode=require');
    expect(() => tlsPlan({ sslmode: 'require', sslnegotiation: 'Direct' })).toThrow('take postgres, direct');
  });
});
