import { createHash, type Hash } from 'node:crypto';
import type { Candidate, DoubtChange, MissingRow } from '../model/absence.ts';

/**
 * What is remembered of the last complete, clean full walk (P2): begun at the top and read to the end in one go,
 * neither begun again nor resumed. Moments are milliseconds by the database's clock.
 */
export interface WholeWalk {
  /** Digest of the keys and contents in the order in which they were first seen. */
  readonly digest: string;
  /** When its first request was sent. */
  readonly began: number;
  /** When its last answer was written. */
  readonly ended: number;
}

/** The keys and contents of one walk, in the order in which they are first seen. */
export class WalkSequence {
  readonly #seen = new Map<string, string>();
  #hash: Hash = createHash('sha256');
  #changed = false;

  /** @param hash content of the item; undefined where it can't be mirrored */
  add(key: string, hash: string | undefined): void {
    const content = hash ?? '';
    const before = this.#seen.get(key);
    if (before === undefined) {
      this.#seen.set(key, content);
      this.#hash.update(`${JSON.stringify(key)}:${content}\n`);
    } else if (before !== content) {
      this.#changed = true;
    }
  }

  has(key: string): boolean {
    return this.#seen.has(key);
  }

  get size(): number {
    return this.#seen.size;
  }

  /** Hexadecimal; undefined where an item changed while the walk was reading. */
  digest(): string | undefined {
    return this.#changed ? undefined : this.#hash.copy().digest('hex');
  }
}

/**
 * What a complete, clean walk says of the live rows that it did not see. The first one makes candidates of them; a
 * second one with the same sequence, begun at least the settle time after the first ended, proves those that no
 * sighting has withdrawn meanwhile.
 * @param missing live rows that `present` did not see
 * @param candidates the scope's rows in doubt among them
 */
export function judgePair(
  previous: WholeWalk | null,
  present: WholeWalk,
  {
    missing,
    candidates,
    settleMs,
  }: {
    readonly missing: readonly MissingRow[];
    readonly candidates: readonly Candidate[];
    readonly settleMs: number;
  },
): DoubtChange {
  const inDoubt = new Map(candidates.map((candidate) => [candidate.key, candidate]));
  const same =
    previous !== null && previous.digest === present.digest && present.began - previous.ended >= settleMs;
  const fresh = missing.filter(
    ({ key, changedAt }) => !inDoubt.has(key) && changedAt <= present.began - settleMs,
  );
  const prove = same
    ? candidates.filter(
        ({ kind, proven, at }) => kind === 'pair' && !proven && at <= present.began - settleMs,
      )
    : [];
  return {
    add: fresh.map(({ key }) => ({ key, kind: 'pair' })),
    prove: prove.map(({ key }) => key),
    withdraw: [],
    withdrawOrdered: false,
  };
}
