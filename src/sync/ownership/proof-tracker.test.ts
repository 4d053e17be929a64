import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PROOF_MS, ProofTracker } from './proof-tracker.ts';

it('a proof counts for a minute from when its request was sent, whenever it was answered', () => {
  const tracker = new ProofTracker();
  expect(tracker.covers('a', 0)).toBe(false);
  const proven = tracker.proving('a');
  expect(tracker.covers('a', 1_000)).toBe(false);
  proven(1_000);
  expect([999, 1_000, 61_000, 61_001].map((moment) => tracker.covers('a', moment))).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

it('a proof is none any more of a key that was written off', () => {
  const tracker = new ProofTracker();
  tracker.answered('a');
  tracker.proving('a')(0);
  tracker.writeOff('a');
  expect([tracker.covers('a', 0), tracker.hasUnproven('a')]).toEqual([false, false]);
});

/** Things that happen to keys; a request that proves may be answered late, in any order, or never. */
const EVENT = fc.record({
  what: fc.constantFrom('answer', 'ask', 'prove'),
  key: fc.constantFrom('a', 'b'),
  after: fc.nat({ max: 40_000 }),
  which: fc.nat({ max: 3 }),
});

it('whatever order answers and proofs come in a key is covered by the youngest of its proofs, and owes exactly what none of them followed', () => {
  fc.assert(
    fc.property(fc.array(EVENT, { maxLength: 40 }), (events) => {
      const tracker = new ProofTracker();
      let now = 0;
      // By a list of all that happened, and nothing remembered.
      const told: { key: string; index: number; answered?: true; began?: number }[] = [];
      const open: { key: string; index: number; began: number; end: (began: number) => void }[] = [];
      for (const [index, { what, key, after, which }] of events.entries()) {
        now += after;
        if (what === 'answer') {
          tracker.answered(key);
          told.push({ key, index, answered: true });
        } else if (what === 'ask') open.push({ key, index, began: now, end: tracker.proving(key) });
        else {
          const [proof] = open.splice(which % Math.max(1, open.length), 1);
          if (proof === undefined) continue;
          proof.end(proof.began);
          told.push({ key: proof.key, index: proof.index, began: proof.began });
        }
        for (const each of ['a', 'b']) {
          const own = told.filter((one) => one.key === each);
          const proofs = own.filter(({ began }) => began !== undefined);
          expect(tracker.covers(each, now)).toBe(proofs.some(({ began = 0 }) => now - began <= PROOF_MS));
          const unproven = own.some(
            ({ answered, index: at }) => answered === true && !proofs.some((proof) => proof.index > at),
          );
          expect(tracker.hasUnproven(each)).toBe(unproven);
        }
      }
    }),
  );
});
