import { rememberMoved, rememberProof, setOrigin } from '../postgres/accounts.ts';
import { forgetConclusions, forgetReadings } from './recheck.ts';
import type { Db } from '../postgres/db.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { type CompleteScope, saveComplete, listsAsOf } from '../mirror/scope-store.ts';
import { saveCollection } from '../mirror/sync-log.ts';
import { collection } from '../model/collections.ts';

export type OwnershipStore = ReturnType<typeof createOwnershipStore>;

/**
 * Stores whose an account's keys are, and what follows from that.
 * @param origin the configured service's address, which the account's stored one is or becomes
 */
export function createOwnershipStore(db: Db, fence: Fence, origin: string) {
  const { userId } = fence;
  let isAdopted = false;
  return {
    /** The key is the account's. @param agoMs how long ago the proof was sent */
    proven: async (keyHash: string, agoMs: () => number) => {
      await fenced(db, fence, async (trx, now) => {
        await rememberProof(trx, keyHash, new Date(now.getTime() - agoMs()));
        if (!isAdopted) await setOrigin(trx, userId, origin);
      });
      isAdopted = true;
    },
    /** What was claimed is confirmed. */
    complete: (claims: readonly CompleteScope[]) => storeComplete(db, fence, claims),
    /** The key answered for `owner`: stops the account. @returns the reason, with the remedy */
    contradicted: (keyHash: string, owner: string) =>
      fenced(db, fence, async (trx, now) => {
        const why = await rememberMoved(trx, keyHash, userId, owner);
        await forgetReadings(trx, userId, now);
        const account = trx.state.updateTable('account').set({ state: 'stopped', error: why });
        await account.where('_user_id', '=', userId).execute();
        return why;
      }),
    /** Forgets conclusions from answers that will never be proven. */
    distrust: () => fenced(db, fence, (trx) => forgetConclusions(trx, userId)),
  };
}

/** Stores as of when scopes are complete, and their collections with them. */
async function storeComplete(db: Db, fence: Fence, claims: readonly CompleteScope[]): Promise<void> {
  const { userId } = fence;
  await fenced(db, fence, async (trx, now) => {
    const complete = await saveComplete(trx, userId, claims, now);
    for (const { scope, completeAsOf } of complete.filter((each) => each.scope.parent === '')) {
      await saveCollection(trx, userId, scope.collection, { completeAsOf }, now);
    }
    // A collection of lists is complete as of the earliest of them.
    const many = complete.filter(({ scope }) => scope.parent !== '').map(({ scope }) => scope.collection);
    for (const name of new Set(many)) {
      const lists = collection(name);
      if (lists.kind !== 'list') continue;
      const { completeAsOf } = await listsAsOf(trx, userId, lists);
      if (completeAsOf !== undefined) await saveCollection(trx, userId, name, { completeAsOf }, now);
    }
  });
}
