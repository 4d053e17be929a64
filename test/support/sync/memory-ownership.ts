import type { Clock } from '@research-mirror/runtime/clock';
import { Ownership, type OwnershipStore } from '../../../src/sync/ownership/ownership.ts';

/** What an account's ownership stored, in memory. */
export interface StoredOwnership extends OwnershipStore {
  /** Keys that were proven, in order; `!` before one that answered for another, `?` for what was distrusted. */
  readonly told: string[];
}

export function storedOwnership(): StoredOwnership {
  const told: string[] = [];
  return {
    told,
    mark: () => Promise.resolve({ changeId: '0', at: new Date(0) }),
    proven: (keyHash, _mark, complete) => {
      told.push([keyHash, ...complete.map(({ scope }) => scope.collection)].join(' '));
      return Promise.resolve();
    },
    contradicted: (keyHash, owner) => {
      told.push(`!${keyHash}`);
      return Promise.resolve(`${keyHash} answers for ${owner}`);
    },
    distrust: () => {
      told.push('?');
      return Promise.resolve();
    },
  };
}

/** Sees to whose answers are applied, and stores nothing. */
export function memoryOwnership(userId: string, clock: Pick<Clock, 'monotonic'>): Ownership {
  return new Ownership({ userId, store: storedOwnership(), clock });
}
