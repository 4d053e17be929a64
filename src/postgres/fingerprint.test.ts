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
const like = (changes: Partial<Fingerprint>): Fingerprint => ({ ...HERE, ...changes });

describe('two fingerprints', () => {
  it.each<[string, Partial<Fingerprint>, RegExp]>([
    ['another cluster', { system: '7302' }, /another PostgreSQL cluster/],
    ['a backup or standby that began to write', { timeline: '00000002' }, /from a backup, or a standby/],
    ['files that were copied', { directory: '/copy/pg18' }, /another folder/],
    ['another database of the cluster', { database: '6' }, /another database/],
    ['tables that were restored', { table: '24602' }, /tables were restored/],
  ])('tell %s', (_what, change, words) => {
    expect(compareFingerprints(HERE, like(change)).another.join()).toMatch(words);
  });

  const silent = like({ system: null, timeline: null, directory: null });
  it.each([
    [HERE, HERE],
    [HERE, silent],
    [silent, HERE],
  ])('are equal after a restart, even if one of them lacks what its user may not read', (one, other) => {
    expect(compareFingerprints(one, other)).toEqual({ another: [], newHost: false });
  });

  it.each<[string[], string[], boolean]>([
    [['db.example'], ['branch.example'], true],
    [['a', 'b'], ['b'], false],
    [['db.example'], [], false],
    [[], ['db.example'], false],
  ])('tell a new host if both were reached over a network: %j, %j', (one, other, isNew) => {
    expect(compareFingerprints(like({ hosts: one }), like({ hosts: other })).newHost).toBe(isNew);
  });
});

it('a crash of the server shows in its statistics, and matters if it loses confirmed commits', () => {
  const [after, unflushed] = [like({ counting: '2' }), like({ flushed: false })];
  expect(mayLackCommits(unflushed, after)).toBe(true);
  expect(mayLackCommits(unflushed, HERE)).toBe(false);
  expect(mayLackCommits(HERE, { ...after, flushed: false })).toBe(false);
  const { counting: _, flushed: __, ...earlier } = HERE;
  expect(mayLackCommits(readFingerprint(earlier) ?? after, { ...after, flushed: false })).toBe(false);
});

describe('the stored fingerprint', () => {
  it('is the current one completed by the one before, and is read as it was written', () => {
    const now = like({ system: null, directory: null, table: '3', hosts: ['a.example'] });
    const kept = mergeFingerprints(HERE, now);
    expect(kept).toEqual(like({ table: '3', hosts: ['a.example', 'db.example'] }));
    expect(readFingerprint(JSON.parse(JSON.stringify(kept)))).toEqual(kept);
    expect(readFingerprint(null)).toBeUndefined();
  });

  it('is never guessed from other JSON', () => {
    for (const stored of [{}, 'x', 5, { ...HERE, table: 3 }]) {
      expect(compareFingerprints(readFingerprint(stored) ?? HERE, HERE).another).not.toEqual([]);
    }
  });
});

it.each([
  ['postgres://u:p@DB.example:5432/x', 'db.example'],
  ['postgres://u@10.0.0.7/x', '10.0.0.7'],
  ['postgres://u@localhost/x', undefined],
  ['postgres://u@127.0.0.1:5433/x', undefined],
  ['postgres://u@[::1]/x', undefined],
  ['postgres:///x?host=/var/run/postgresql', undefined],
  // From PGHOST if the URL names none.
  ['postgres:///x', 'pg.example'],
])('the host of a connection of %s is %s', (url, host) => {
  expect(endpointHost(url, { PGHOST: 'pg.example' })).toBe(host);
});
