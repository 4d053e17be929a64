import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROOF_MS, ProofDesk } from './proof-desk.ts';

describe('a proof', () => {
  it('counts for a minute from when its request was sent, whenever it was answered', () => {
    const desk = new ProofDesk();
    expect(desk.covers('a', 0)).toBe(false);
    const proven = desk.proving('a');
    expect(desk.covers('a', 1_000)).toBe(false);
    proven(1_000);
    expect([999, 1_000, 61_000, 61_001].map((moment) => desk.covers('a', moment))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('is of its own key', () => {
    const desk = new ProofDesk();
    desk.proving('a')(0);
    expect(desk.covers('b', 0)).toBe(false);
  });

  it('proves what came before it was asked for, and nothing that came while it was under way', () => {
    const desk = new ProofDesk();
    desk.answered('a');
    expect(desk.isOwing('a')).toBe(true);
    const proven = desk.proving('a');
    desk.answered('a');
    proven(0);
    expect(desk.isOwing('a')).toBe(true);
    desk.proving('a')(0);
    expect(desk.isOwing('a')).toBe(false);
    expect(desk.isOwing('b')).toBe(false);
  });

  it('is none any more of a key that was written off', () => {
    const desk = new ProofDesk();
    desk.answered('a');
    desk.proving('a')(0);
    desk.writeOff('a');
    expect([desk.covers('a', 0), desk.isOwing('a')]).toEqual([false, false]);
  });
});

/** Things that happen to keys; a request that proves may be answered late, in any order, or never. */
const EVENT = fc.record({
  what: fc.constantFrom('answer', 'ask', 'prove'),
  key: fc.constantFrom('a', 'b'),
  after: fc.nat({ max: 40_000 }),
  which: fc.nat({ max: 3 }),
});

describe('whatever order answers and proofs come in', () => {
  it('a key is covered by the youngest of its proofs, and owes exactly what none of them followed', () => {
    fc.assert(
      fc.property(fc.array(EVENT, { maxLength: 40 }), (events) => {
        const desk = new ProofDesk();
        let now = 0;
        // By a list of all that happened, and nothing remembered.
        const told: { key: string; index: number; answered?: true; began?: number }[] = [];
        const open: { key: string; index: number; began: number; end: (began: number) => void }[] = [];
        for (const [index, { what, key, after, which }] of events.entries()) {
          now += after;
          if (what === 'answer') {
            desk.answered(key);
            told.push({ key, index, answered: true });
          } else if (what === 'ask') open.push({ key, index, began: now, end: desk.proving(key) });
          else {
            const [proof] = open.splice(which % Math.max(1, open.length), 1);
            if (proof === undefined) continue;
            proof.end(proof.began);
            told.push({ key: proof.key, index: proof.index, began: proof.began });
          }
          for (const each of ['a', 'b']) {
            const own = told.filter((one) => one.key === each);
            const proofs = own.filter(({ began }) => began !== undefined);
            expect(desk.covers(each, now)).toBe(proofs.some(({ began = 0 }) => now - began <= PROOF_MS));
            const owed = own.some(
              ({ answered, index: at }) => answered === true && !proofs.some((proof) => proof.index > at),
            );
            expect(desk.isOwing(each)).toBe(owed);
          }
        }
      }),
    );
  });
});
