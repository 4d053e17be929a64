/** Longest time (ms) between the beginning of a proof and a request whose answer rests on it. */
export const PROOF_MS = 60_000;

/** What is known of one key. */
interface KnownKey {
  /** When the request of the last good proof was sent, milliseconds of the monotonic clock. */
  began: number;
  /** Answers so far, and those that a proof has followed. */
  answers: number;
  proven: number;
}

/**
 * Which answers are an account's own, told key by key (docs/design/ownership.md, "Whose data"): a proof is an answer that names the
 * key's owner. An answer rests on a proof whose request was sent at most a minute before its own; what is made of many
 * answers together (deletions, "everything as of") needs one that was sent after the last of them.
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

  /** A request goes out that may prove what came so far. @returns what to call when it has, with when it was sent */
  proving(keyHash: string): (began: number) => void {
    const known = this.#of(keyHash);
    const { answers } = known;
    return (began) => {
      known.began = Math.max(known.began, began);
      known.proven = Math.max(known.proven, answers);
    };
  }

  /** Answers came that no proof has followed. */
  hasUnproven(keyHash: string): boolean {
    const { answers, proven } = this.#of(keyHash);
    return answers > proven;
  }

  /** What the key answered is not built upon any more: no proof will follow. */
  writeOff(keyHash: string): void {
    this.#keys.delete(keyHash);
  }

  #of(keyHash: string): KnownKey {
    const known = this.#keys.get(keyHash) ?? { began: Number.NEGATIVE_INFINITY, answers: 0, proven: 0 };
    this.#keys.set(keyHash, known);
    return known;
  }
}
