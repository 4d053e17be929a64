import { describe, expect, it } from 'vitest';
import {
  compareFingerprints,
  endpointHost,
  mayLackCommits,
  mergeFingerprints,
  readFingerprint,
  type Fingerprint,
} from './fingerprint.ts';

const HERE: Fingerprint = {
  system: '7301',
  timeline: '00000001',
  directory: '/data/pg18',
  database: '5',
  table: '24601',
  hosts: ['db.example'],
  counting: '1',
  flushed: true,
};

describe('two fingerprints', () => {
  it.each<[string, Partial<Fingerprint>, RegExp]>([
    ['another cluster', { system: '7302' }, /another PostgreSQL cluster/],
    [
      'a backup or standby that began to write',
      { timeline: '00000002' },
      /restored from a backup, or a standby/,
    ],
    ['files that were copied', { directory: '/copy/pg18' }, /another folder/],
    ['another database of the cluster', { database: '6' }, /another database/],
    ['tables that were restored', { table: '24602' }, /tables were restored/],
  ])('tell %s', (_what, change, words) => {
    expect(compareFingerprints(HERE, { ...HERE, ...change }).another.join()).toMatch(words);
  });

  it('are equal after a restart, whatever one of them is not permitted to ask', () => {
    const silent = { system: null, timeline: null, directory: null };
    const same = { another: [], newHost: false };
    expect(compareFingerprints(HERE, HERE)).toEqual(same);
    expect(compareFingerprints(HERE, { ...HERE, ...silent })).toEqual(same);
    expect(compareFingerprints({ ...HERE, ...silent }, HERE)).toEqual(same);
  });

  it('tell a new host, unless one of them was not reached over a network', () => {
    const at = (...hosts: string[]): Fingerprint => ({ ...HERE, hosts });
    expect(compareFingerprints(HERE, at('branch.example')).newHost).toBe(true);
    expect(compareFingerprints(at('a', 'b'), at('b')).newHost).toBe(false);
    expect(compareFingerprints(HERE, at()).newHost).toBe(false);
    expect(compareFingerprints(at(), HERE).newHost).toBe(false);
  });
});

describe('a crash of the server', () => {
  it('shows in its statistics, and matters where it loses what was answered', () => {
    const after: Fingerprint = { ...HERE, counting: '2' };
    expect(mayLackCommits({ ...HERE, flushed: false }, after)).toBe(true);
    expect(mayLackCommits({ ...HERE, flushed: false }, HERE)).toBe(false);
    expect(mayLackCommits(HERE, { ...after, flushed: false })).toBe(false);
    const { counting: _, flushed: __, ...earlier } = HERE;
    expect(mayLackCommits(readFingerprint(earlier) ?? after, { ...after, flushed: false })).toBe(false);
  });
});

describe('the fingerprint that is kept', () => {
  it('is the present one with all that was known, and is read as it was written', () => {
    const kept = mergeFingerprints(HERE, {
      ...HERE,
      system: null,
      directory: null,
      table: '3',
      hosts: ['a.example'],
    });
    expect(kept).toEqual({ ...HERE, table: '3', hosts: ['a.example', 'db.example'] });
    expect(readFingerprint(JSON.parse(JSON.stringify(kept)))).toEqual(kept);
    expect(readFingerprint(null)).toBeUndefined();
  });

  it('is never guessed from something else', () => {
    for (const stored of [{}, 'x', 5, { ...HERE, table: 3 }]) {
      const { another } = compareFingerprints(readFingerprint(stored) ?? HERE, HERE);
      expect(another).not.toEqual([]);
    }
  });
});

describe('the host of a connection', () => {
  it.each([
    ['postgres://u:p@DB.example:5432/x', 'db.example'],
    ['postgres://u@10.0.0.7/x', '10.0.0.7'],
    ['postgres://u@localhost/x', undefined],
    ['postgres://u@127.0.0.1:5433/x', undefined],
    ['postgres://u@[::1]/x', undefined],
    ['postgres:///x?host=/var/run/postgresql', undefined],
  ])('of %s is %s', (url, host) => {
    expect(endpointHost(url)).toBe(host);
  });

  it('comes from PGHOST where the URL names none', () => {
    expect(endpointHost('postgres:///x', { PGHOST: 'db.example' })).toBe('db.example');
  });
});
