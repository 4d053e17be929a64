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
});
