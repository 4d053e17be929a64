import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROOF_MS, Proofs } from './proofs.ts';

const claimOf = (at: number, parent = '') => ({
  scope: { userId: '7', collection: 'watchlist', parent } as const,
  completeAsOf: new Date(at),
});

describe('a proof', () => {
  it('counts for a minute after its request was sent, whenever it was answered', () => {
    const proofs = new Proofs();
    expect(proofs.covers('a', 0)).toBe(false);
    proofs.proven('a', proofs.event(), 1_000);
    const moments = [999, 1_000, 1_000 + PROOF_MS, 1_001 + PROOF_MS];
    expect(moments.map((moment) => proofs.covers('a', moment))).toEqual([false, true, true, false]);
  });

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
    expect([proofs.owesProof('a'), proofs.isProvenSince('a', proofs.lastAnswer('a'))]).toEqual([
      false,
      false,
    ]);
    proofs.proven('a', proofs.event(), 0);
    expect(proofs.isProvenSince('a', proofs.lastAnswer('a'))).toBe(true);
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
});

/** Things that happen to keys; a request that proves may be answered late, in any order, or never. */
const EVENT = fc.record({
  what: fc.constantFrom('answer', 'claim', 'ask', 'prove'),
  key: fc.constantFrom('a', 'b'),
  after: fc.nat({ max: 40_000 }),
  which: fc.nat({ max: 3 }),
});

interface Told {
  readonly what: 'answer' | 'proof' | 'claim';
  readonly key: string;
  readonly index: number;
  readonly sentAt?: number;
}

it('whatever order answers, claims and proofs come in a key is covered by its youngest proof, owes exactly what none followed, and a claim is confirmed when each key that answered before it has a later proof', () => {
  fc.assert(
    fc.property(fc.array(EVENT, { maxLength: 40 }), (events) => {
      const proofs = new Proofs();
      let now = 0;
      // By a list of all that happened, and nothing remembered.
      const told: Told[] = [];
      const open: { key: string; index: number; sent: number; sentAt: number }[] = [];
      const isFollowed = (key: string, index: number): boolean =>
        told.some((one) => one.what === 'proof' && one.key === key && one.index > index);
      for (const [index, { what, key, after, which }] of events.entries()) {
        now += after;
        if (what === 'answer') {
          proofs.answered(key);
          told.push({ what, key, index });
        } else if (what === 'claim') {
          proofs.claim(claimOf(index, String(index)));
          told.push({ what, key, index });
        } else if (what === 'ask') open.push({ key, index, sent: proofs.event(), sentAt: now });
        else {
          const [proof] = open.splice(which % Math.max(1, open.length), 1);
          if (proof === undefined) continue;
          proofs.proven(proof.key, proof.sent, proof.sentAt);
          told.push({ ...proof, what: 'proof' });
        }
        const answersBefore = (claim: Told) =>
          told.filter((one) => one.what === 'answer' && one.index < claim.index);
        const due = told.filter(
          (one) =>
            one.what === 'claim' &&
            answersBefore(one).every((answer) => {
              const last = answersBefore(one).findLast((each) => each.key === answer.key);
              return isFollowed(answer.key, last?.index ?? 0);
            }),
        );
        // A key that answered only after the claim may hold it back; nothing else does.
        const names = proofs.confirmed().map(({ scope }) => Number(scope.parent));
        expect(due.map((one) => one.index)).toEqual(expect.arrayContaining(names));
        const answeredLater = (claim: Told) =>
          ['a', 'b'].some(
            (each) =>
              told.some((one) => one.what === 'answer' && one.key === each && one.index > claim.index) &&
              !isFollowed(each, claim.index),
          );
        const certain = due.filter((claim) => !answeredLater(claim)).map((one) => one.index);
        expect(names).toEqual(expect.arrayContaining(certain));
        for (const each of ['a', 'b']) {
          const own = told.filter((one) => one.key === each);
          const covered = own.some(({ what: is, sentAt = 0 }) => is === 'proof' && now - sentAt <= PROOF_MS);
          expect(proofs.covers(each, now)).toBe(covered);
          const owed = own.some(({ what: is, index: at }) => is === 'answer' && !isFollowed(each, at));
          expect(proofs.owesProof(each)).toBe(owed);
        }
      }
    }),
  );
});
