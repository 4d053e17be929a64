import type { CompleteScope } from '../mirror/scope-store.ts';
import { scopeName } from '../model/collections.ts';

/** Longest time (ms) between the sending of a proof and of a request whose answer rests on it. */
export const PROOF_MS = 60_000;

/** What is known of one key; events are numbered in the order in which they happened. */
interface KeyProofs {
  /** When its last good proof was sent (ms of the monotonic clock), and that event's number. */
  sentAt: number;
  sent: number;
  /** Its last answer. Before the first one: all that earlier processes may have had of it. */
  answered: number;
  isUsed: boolean;
}

/**
 * Which answers are an account's own, by key (docs/design/ownership.md, "Whose data"). A proof is a ping that named
 * the account as the key's owner. A request may be sent within a minute of its key's proof. What rests on many
 * answers, deletions and "complete as of", needs a proof of each key that was sent after its last answer.
 */
export class Proofs {
  #events = 0;
  readonly #keys = new Map<string, KeyProofs>();
  /** What readings found complete, by scope. In memory alone: the next process reads it again. */
  readonly #claims = new Map<string, { readonly claim: CompleteScope; readonly at: number }>();
  /** When a key was refused last whose answers no proof had followed (ms, the database's time). */
  #distrustedAt = Number.NEGATIVE_INFINITY;

  /** Numbers an event: the sending of a proof, or a question. */
  event(): number {
    return (this.#events += 1);
  }

  /** A request that is sent at `moment` may rest on the last proof. */
  covers(keyHash: string, moment: number): boolean {
    const age = moment - this.#of(keyHash).sentAt;
    return age >= 0 && age <= PROOF_MS;
  }

  /** An answer came, to be applied. */
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

  /** This process has answers of the key that no proof has followed. */
  owesProof(keyHash: string): boolean {
    const { isUsed, answered, sent } = this.#of(keyHash);
    return isUsed && answered > sent;
  }

  /** Call it when what the claim rests on is committed. A later one of its scope takes its place. */
  claim(claim: CompleteScope): void {
    if (this.trusts(claim.completeAsOf))
      this.#claims.set(scopeName(claim.scope), { claim, at: this.event() });
  }

  /** Whether conclusions may rest on what was read from that moment on: no proof of it is missing for good. */
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

  /** Claims that every used key has proven by now; they stay until they are `stored`. */
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

  /**
   * The key is refused: no proof of its answers will come, on which readings under way may rest, too.
   * @returns whether conclusions rest on some of them
   */
  refused(keyHash: string, now: number): boolean {
    const isOwed = this.owesProof(keyHash);
    this.#keys.delete(keyHash);
    if (!isOwed) return false;
    this.#claims.clear();
    this.#distrustedAt = now;
    return true;
  }

  /** No proof will follow at all. */
  forgetClaims(): void {
    this.#claims.clear();
  }

  #of(keyHash: string): KeyProofs {
    const known = this.#keys.get(keyHash) ?? {
      sentAt: Number.NEGATIVE_INFINITY,
      sent: -1,
      answered: 0,
      isUsed: false,
    };
    this.#keys.set(keyHash, known);
    return known;
  }
}
