import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeySet } from './verify-keys.ts';

describe('a set of keys', () => {
  it('holds what was added and nothing else, as a Set does', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (added, others) => {
        const keys = new KeySet();
        for (const key of added) keys.add(key);
        const reference = new Set(added);
        expect(keys.size).toBe(reference.size);
        for (const key of [...added, ...others]) expect(keys.has(key)).toBe(reference.has(key));
      }),
    );
  });

  it('grows', () => {
    const keys = new KeySet();
    for (let n = 0; n < 20_000; n += 1) keys.add(String(n));
    expect(keys.size).toBe(20_000);
    expect(keys.has('0') && keys.has('19999')).toBe(true);
    expect(keys.has('20000')).toBe(false);
  });
});
