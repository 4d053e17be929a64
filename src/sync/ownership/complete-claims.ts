import type { CompleteScope } from '../../mirror/scope/complete-as-of.ts';
import { scopeName } from '../../model/collections.ts';

/** Claims that the proof under way may confirm. */
export interface TakenClaims {
  readonly claims: readonly CompleteScope[];
  /** The proof failed: the claims wait for the next one, unless later claims of their scopes took their place. */
  readonly putBack: () => void;
}

/**
 * What readings found complete, provided that they read the account's own data: the next proof confirms it. Kept in
 * memory alone: the next process reads again what this one leaves open.
 */
export class CompleteClaims {
  #open = new Map<string, CompleteScope>();
  /** Claims taken before `forget` are not put back. */
  #generation = 0;

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  add(claim: CompleteScope): void {
    this.#open.set(scopeName(claim.scope), claim);
  }

  /** Takes all claims; later ones wait for a later proof. */
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
