import type { CompleteScope } from '../mirror/scope-store.ts';
import { scopeName } from '../model/collections.ts';

/** Longest time between sending a proof and a request whose answer rests on it, ms. */
export const PROOF_MS = 60_000;

/** A key without proofs or answers; events are numbered in their order. */
const NEW_KEY = {
  /** Time of sending of its last good proof (ms, monotonic), and that event's number. */
  sentAt: Number.NEGATIVE_INFINITY,
  sent: -1,
  /** Its last answer. Before the first one: the answers of earlier processes. */
  answered: 0,
  isUsed: false,
};

/**
 * Tracks which answers belong to the account, by key (docs/design/ownership.md, "Whose data"). A proof is a ping that
 * named the account as the key's owner. A request may be sent within a minute of its key's proof. Deletions and
 * "complete as of" need a proof of each key that was sent after its last answer.
 */
export class Proofs {
  #events = 0;
  readonly #keys = new Map<string, typeof NEW_KEY>();
  /** Scopes that readings found complete; in memory only. */
  readonly #claims = new Map<string, { readonly claim: CompleteScope; readonly at: number }>();
  /** Time of the last refusal of a key with unproven answers (ms, the database's time). */
  #distrustedAt = Number.NEGATIVE_INFINITY;

  /** Numbers an event: a proof was sent or requested. */
  event(): number {
    return (this.#events += 1);
  }

  /** Whether a request that is sent at `moment` (ms, monotonic) may rest on the last proof. */
  covers(keyHash: string, moment: number): boolean {
    const age = moment - this.#of(keyHash).sentAt;
    return age >= 0 && age <= PROOF_MS;
  }

  /** Notes an answer that will be applied. */
  answered(keyHash: string): void {
    const known = this.#of(keyHash);
    known.answered = this.event();
    known.isUsed = true;
  }

  lastAnswer(keyHash: string): number {
    return this.#of(keyHash).answered;
  }

  /** A good proof was sent after the event. */
  isProvenSince(keyHash: string, event: number): boolean {
    return this.#of(keyHash).sent > event;
  }

  /** This process has answers of the key without a later proof. */
  owesProof(keyHash: string): boolean {
    const { isUsed, answered, sent } = this.#of(keyHash);
    return isUsed && answered > sent;
  }

  /** Adds a claim, which replaces an earlier one of its scope. */
  claim(claim: CompleteScope): void {
    if (this.trusts(claim.completeAsOf)) this.#claims.set(scopeName(claim.scope), { claim, at: this.event() });
  }

  /** Whether conclusions may rest on what was read since then: no later answer stays unproven for ever. */
  trusts(began: Date): boolean {
    return began.getTime() > this.#distrustedAt;
  }

  get hasClaims(): boolean {
    return this.#claims.size > 0;
  }

  /** The proof that was sent as the event `sent`, at `sentAt`, was good. Proofs may be answered in any order. */
  proven(keyHash: string, sent: number, sentAt: number): void {
    const known = this.#of(keyHash);
    if (sent > known.sent) Object.assign(known, { sent, sentAt });
  }

  /** Claims that every used key has proven; they stay until they are `stored`. */
  confirmed(): readonly CompleteScope[] {
    const used = [...this.#keys.values()].filter(({ isUsed }) => isUsed);
    return [...this.#claims.values()]
      .filter(({ at }) => used.every((key) => key.sent > Math.min(key.answered, at)))
      .map(({ claim }) => claim);
  }

  stored(claims: readonly CompleteScope[]): void {
    for (const claim of claims) {
      const name = scopeName(claim.scope);
      if (this.#claims.get(name)?.claim === claim) this.#claims.delete(name);
    }
  }

  /** Notes that the key is refused: its answers stay unproven. @returns whether conclusions may rest on some of them */
  refused(keyHash: string, now: number): boolean {
    const isOwed = this.owesProof(keyHash);
    this.#keys.delete(keyHash);
    if (!isOwed) return false;
    this.#claims.clear();
    this.#distrustedAt = now;
    return true;
  }

  forgetClaims(): void {
    this.#claims.clear();
  }

  #of(keyHash: string): typeof NEW_KEY {
    const known = this.#keys.get(keyHash) ?? { ...NEW_KEY };
    this.#keys.set(keyHash, known);
    return known;
  }
}
