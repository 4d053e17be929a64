import type { OwnershipStore } from '../../../src/sync/account-store.ts';

/**
 * What an account's ownership stored, in memory. `told` has the keys that were proven, in order, and `= ` with what is
 * complete by that; `!` before a key that answered for another, `?` for what was distrusted.
 */
export function storedOwnership(): OwnershipStore & { readonly told: string[] } {
  const told: string[] = [];
  return {
    told,
    proven: (keyHash) => {
      told.push(keyHash);
      return Promise.resolve();
    },
    complete: (claims) => {
      told.push(`= ${claims.map(({ scope }) => scope.collection).join(' ')}`);
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
