import { expect, it } from 'vitest';
import { contentHash, contentRule } from '../rows/content-hash.ts';
import { KnownHashes } from './known-hashes.ts';

const SOURCES = ['{"id":1,"seen":1}', '{"id":2,"seen":1}'];
const EVERY = contentRule([], []);
const IGNORING = contentRule(['seen'], []);
const EXCLUDING = contentRule([], ['seen']);

it('knows the hashes of a body by each rule apart', () => {
  const known = new KnownHashes();
  for (const round of [1, 2]) {
    for (const rule of [EVERY, IGNORING, EXCLUDING]) {
      let made = 0;
      const hashes = known.of('digest', rule, () => {
        made += 1;
        return SOURCES.map((source) => contentHash(source, rule));
      });
      expect(hashes).toEqual(SOURCES.map((source) => contentHash(source, rule)));
      expect(made).toBe(round === 1 ? 1 : 0);
    }
  }
});

it('takes an equal rule for the same, and a page without a hash for none', () => {
  const known = new KnownHashes();
  known.of('digest', contentRule(['a', 'b'], []), () => ['00'.repeat(16)]);
  expect(known.of('digest', contentRule(['b', 'a'], []), () => [])).toEqual(['00'.repeat(16)]);
  expect(known.of('other', EVERY, () => ['', '11'.repeat(16)])).toEqual(['', '11'.repeat(16)]);
  expect(known.of('other', EVERY, () => ['made anew'])).toEqual(['made anew']);
});
