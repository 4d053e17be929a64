import fc from 'fast-check';
import { keysInMemory } from '@research-mirror/runtime/keys/kept-keys';
import { keysOnDisk } from '@research-mirror/runtime/testing/keys-on-disk';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../test/support/effort.ts';
import { WalkSequence } from './pair.ts';

/** Keys and contents as a walk sees them: with repetitions, changes, and keys that only look alike. */
const SEEN = fc.array(
  fc.tuple(
    fc.oneof(
      fc.integer({ min: 0, max: 40 }).map(String),
      fc.constantFrom('', ' ', '1 ', 'ä', 'a\u0308', '10', '010', '😀', "'", 'K', 'k'),
    ),
    fc.constantFrom('a', 'b', undefined),
  ),
  { maxLength: 60 },
);

describe('the sequence of a walk', () => {
  it('is the same whether its keys are in memory or on disk', () => {
    fc.assert(
      fc.property(SEEN, (seen) => {
        const [kept, spilled] = [keysInMemory.open(), keysOnDisk.open()];
        const [memory, disk] = [new WalkSequence(kept), new WalkSequence(spilled)];
        for (const [key, hash] of seen) {
          memory.add(key, hash);
          disk.add(key, hash);
          expect(disk.digest()).toBe(memory.digest());
          expect(disk.size).toBe(memory.size);
        }
        for (const key of ['0', '40', '41', 'missing', ...seen.map(([each]) => each)]) {
          expect(disk.has(key)).toBe(memory.has(key));
        }
        expect(spilled.lost).toBe(false);
        kept.close();
        spilled.close();
      }),
      { numRuns: runs(200, 5000) },
    );
  });
});
