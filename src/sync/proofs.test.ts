import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROOF_MS, Proofs } from './proofs.ts';

const claimOf = (at: number, parent = '') => ({
  scope: { userId: '7', collection: 'watchlist', parent } as const,
  completeAsOf: new Date(at),
});

/** Things that happen to keys; a request that proves may be answered late, in any order, or never. */
const EVENT = fc.record({
  what: fc.constantFrom('answer', 'claim', 'ask', 'prove'),
  key: fc.constantFrom('a', 'b'),
  after: fc.nat({ max: 40_000 }),
  which: fc.nat({ max: 3 }),
});

describe('a proof', () => {
  it('is void after its key was refused; claims from the key’s answers are forgotten', () => {
    const proofs = new Proofs();
    proofs.proven('a', proofs.event(), 0);
    proofs.answered('a');
    proofs.claim(claimOf(0));
    expect(proofs.refused('a', 5_000)).toBe(true);
    expect([proofs.covers('a', 0), proofs.owesProof('a'), proofs.hasClaims]).toEqual([false, false, false]);
    // Of what was read before, and is committed only now.
    proofs.claim(claimOf(5_000));
    expect([proofs.hasClaims, proofs.trusts(new Date(5_000))]).toEqual([false, false]);
    // Nothing rests on a key that was not used.
    proofs.claim(claimOf(5_001));
    expect([proofs.refused('b', 6_000), proofs.hasClaims]).toEqual([false, true]);
  });

  it('is needed of each key for the answers of earlier processes, but owed only for this process’s own', () => {
    const proofs = new Proofs();
    const isProven = () => proofs.isProvenSince('a', proofs.lastAnswer('a'));
    expect([proofs.owesProof('a'), isProven()]).toEqual([false, false]);
    proofs.proven('a', proofs.event(), 0);
    expect(isProven()).toBe(true);
  });

  it('keeps a claim that replaced the one of its scope while that was stored', () => {
    const proofs = new Proofs();
    proofs.claim(claimOf(1));
    proofs.proven('a', proofs.event(), 0);
    const stored = proofs.confirmed();
    proofs.claim(claimOf(2));
    proofs.stored(stored);
    expect([stored, proofs.hasClaims]).toEqual([[claimOf(1)], true]);
    proofs.proven('a', proofs.event(), 0);
    proofs.stored(proofs.confirmed());
    expect(proofs.hasClaims).toBe(false);
  });

  it('covers its key for a minute, settles what was answered before it was asked for, and confirms a claim with those of all keys that had answered', () => {
    fc.assert(
      fc.property(fc.array(EVENT, { maxLength: 40, size: 'max' }), (events) => {
        const proofs = new Proofs();
        let now = 0;
        // All that happened, by its index, and nothing remembered.
        const answers: { key: string; at: number }[] = [];
        const claims: number[] = [];
        const asked: { key: string; at: number; sent: number; sentAt: number }[] = [];
        const proven: typeof asked = [];
        const isFollowed = (key: string, at: number): boolean =>
          proven.some((proof) => proof.key === key && proof.at > at);
        for (const [at, { what, key, after, which }] of events.entries()) {
          now += after;
          if (what === 'answer') {
            proofs.answered(key);
            answers.push({ key, at });
          } else if (what === 'claim') {
            proofs.claim(claimOf(at, String(at)));
            claims.push(at);
          } else if (what === 'ask') asked.push({ key, at, sent: proofs.event(), sentAt: now });
          else {
            const answered = asked.splice(which % Math.max(1, asked.length), 1);
            for (const proof of answered) proofs.proven(proof.key, proof.sent, proof.sentAt);
            proven.push(...answered);
          }
          const ofEach = (holds: (key: string, own: number[]) => boolean): boolean =>
            ['a', 'b'].every((each) => {
              const own = answers.filter((answer) => answer.key === each).map((answer) => answer.at);
              return holds(each, own);
            });
          const due = claims.filter((claim) =>
            ofEach((each, own) => {
              const last = own.findLast((answer) => answer < claim);
              return last === undefined || isFollowed(each, last);
            }),
          );
          const confirmed = proofs.confirmed().map(({ scope }) => Number(scope.parent));
          expect(due).toEqual(expect.arrayContaining(confirmed));
          // A key that answered only after the claim may hold it back; nothing else does.
          const certain = due.filter((claim) =>
            ofEach((each, own) => !own.some((answer) => answer > claim) || isFollowed(each, claim)),
          );
          expect(confirmed).toEqual(expect.arrayContaining(certain));
          for (const each of ['a', 'b']) {
            const covered = proven.some((proof) => proof.key === each && now - proof.sentAt <= PROOF_MS);
            expect(proofs.covers(each, now)).toBe(covered);
            // Nor does it cover what was sent before it.
            expect(proofs.covers(each, -1)).toBe(false);
            const owed = answers.some((answer) => answer.key === each && !isFollowed(each, answer.at));
            expect(proofs.owesProof(each)).toBe(owed);
          }
        }
      }),
    );
  });
});
