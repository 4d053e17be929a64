/** Longest time (ms) between the beginning of a proof and a request whose answer rests on it. */
export const PROOF_MS = 60_000;

/** What is known of one key. */
interface KnownKey {
  /** When the request of the last good proof was sent, milliseconds of the monotonic clock. */
  began: number;
  /** Answers so far, and how many of them have a later proof. */
  answers: number;
  proven: number;
}

/**
 * Which answers are an account's own, by key (docs/design/ownership.md, "Whose data"). A proof is an answer that
 * names the key's owner. An answer rests on a proof whose request was sent at most a minute before its own.
 * Conclusions from many answers (deletions, "everything as of") need a proof that was sent after the last of them.
 */
export class ProofTracker {
  readonly #keys = new Map<string, KnownKey>();

  /** A request that is sent at `moment` may rest on the last proof. */
  covers(keyHash: string, moment: number): boolean {
    const age = moment - this.#of(keyHash).began;
    return age >= 0 && age <= PROOF_MS;
  }

  /** An answer came, to be applied. */
  answered(keyHash: string): void {
    this.#of(keyHash).answers += 1;
  }

  /** A request is about to be sent that may prove the answers so far. @returns call it with when that was sent */
  proving(keyHash: string): (began: number) => void {
    const known = this.#of(keyHash);
    const { answers } = known;
    return (began) => {
      known.began = Math.max(known.began, began);
      known.proven = Math.max(known.proven, answers);
    };
  }

  /** There are answers without a later proof. */
  hasUnproven(keyHash: string): boolean {
    const { answers, proven } = this.#of(keyHash);
    return answers > proven;
  }

  /** The key's answers will never be proven, and count no more. */
  writeOff(keyHash: string): void {
    this.#keys.delete(keyHash);
  }

  #of(keyHash: string): KnownKey {
    const known = this.#keys.get(keyHash) ?? { began: Number.NEGATIVE_INFINITY, answers: 0, proven: 0 };
    this.#keys.set(keyHash, known);
    return known;
  }
}
