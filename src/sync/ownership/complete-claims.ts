import type { CompleteScope } from '../../mirror/scope/complete-as-of.ts';
import { scopeName } from '../../model/collections.ts';

/** Claims that a proof under way may make true. */
export interface TakenClaims {
  readonly claims: readonly CompleteScope[];
  /** The proof did not come: the next one may, but for scopes of which something later is claimed by now. */
  readonly putBack: () => void;
}

/**
 * What readings say to be complete, if they read the account's own data: a proof that is asked for later makes it true.
 * In memory alone: what a process leaves open, the next one reads again.
 */
export class CompleteClaims {
  #open = new Map<string, CompleteScope>();
  /** Taken before something was forgotten: not to be put back. */
  #generation = 0;

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  add(claim: CompleteScope): void {
    this.#open.set(scopeName(claim.scope), claim);
  }

  /** Takes all: what is added from now on waits for a later proof. */
  take(): TakenClaims {
    const taken = this.#open;
    const generation = this.#generation;
    this.#open = new Map();
    return {
      claims: [...taken.values()],
      putBack: () => {
        if (generation === this.#generation) this.#open = new Map([...taken, ...this.#open]);
      },
    };
  }

  /** No proof will follow. */
  forget(): void {
    this.#generation += 1;
    this.#open.clear();
  }
}
