import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/support/effort.ts';
import { WalkSequence } from './whole-walk.ts';

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
  it('knows each key by its first content, and nothing else that looks like it', () => {
    fc.assert(
      fc.property(SEEN, (seen) => {
        const kept = scratchKeys.open();
        const sequence = new WalkSequence(kept);
        const first = new Map<string, string | undefined>();
        let changed = false;
        for (const [key, hash] of seen) {
          sequence.add(key, hash);
          if (!first.has(key)) first.set(key, hash);
          else if (first.get(key) !== hash) changed = true;
          expect(sequence.digest() === undefined).toBe(changed);
          expect(kept.size).toBe(first.size);
        }
        for (const key of ['0', '40', '41', 'missing', ...seen.map(([each]) => each)]) {
          expect(sequence.has(key)).toBe(first.has(key));
        }
        const lines = [...first].map(([key, hash]) => `${JSON.stringify(key)}:${hash ?? ''}\n`).join('');
        if (!changed) expect(sequence.digest()).toBe(createHash('sha256').update(lines).digest('hex'));
        expect(kept.lost).toBe(false);
        kept.close();
      }),
      { numRuns: runs(200, 5000) },
    );
  });
});
