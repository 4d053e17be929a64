import { databaseTime, type Db } from '../../db/connection/db.ts';
import { otherOwner, otherService, setOrigin, storedIdentity } from '../../db/accounts/account-identity.ts';
import { rememberMoved, rememberProof, rememberWhy } from '../../db/accounts/api-keys.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import { type CompleteScope, saveComplete } from '../../mirror/scope/complete-as-of.ts';
import { forgetConclusions, forgetReadings } from '../../db/accounts/recheck.ts';
import { saveCollection } from '../../mirror/scope/log-walk.ts';
import { type WrittenRows, writtenSince } from '../../mirror/rows/written-since.ts';
import { collection } from '../../model/collections.ts';
import { AccountMoved } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { listsAsOf } from '../../mirror/scope/lists-as-of.ts';
import type { OwnershipStore } from './ownership.ts';

export interface OwnershipContext {
  readonly db: Db;
  readonly fence: Fence;
  /** The configured service's address. */
  readonly origin: string;
}

/** Stores in Postgres whose an account's keys are, and what follows from that. */
export function createOwnershipStore(context: OwnershipContext): OwnershipStore {
  const { db, fence, origin } = context;
  const { userId } = fence;
  /** The account's service is stored. */
  let adopted = false;
  return {
    mark: async () => {
      const identity = await storedIdentity(db, userId);
      if (identity === undefined) throw new RangeError(`account ${userId} has no row`);
      const { origin: stored, changeId, at } = identity;
      if (stored !== null && stored !== origin) throw new AccountMoved(otherService(userId, stored, origin));
      adopted = stored !== null;
      return { changeId, at };
    },
    proven: async (keyHash, mark, complete) => {
      await rememberProof(db, keyHash, mark);
      if (!adopted) await fenced(db, fence, (trx) => setOrigin(trx, userId, origin));
      adopted = true;
      if (complete.length > 0) await storeComplete(context, complete);
    },
    contradicted: async (keyHash, owner) => {
      const at = await databaseTime(db);
      const proven = await rememberMoved(db, { keyHash, userId, answeredFor: owner, at });
      const written = proven === undefined ? undefined : await writtenSince(db, userId, proven);
      const why = otherOwner(userId, keyHash, owner, inWords(written));
      await rememberWhy(db, keyHash, why);
      await fenced(db, fence, async (trx, now) => {
        await forgetReadings(trx, userId, now);
        const account = trx.state.updateTable('account').set({ state: 'stopped', error: why });
        await account.where('_user_id', '=', userId).execute();
      });
      return why;
    },
    distrust: () => fenced(db, fence, (trx) => forgetConclusions(trx, userId)),
  };
}

/** Stores as of when scopes are complete, and their collections with them. */
async function storeComplete(
  { db, fence }: OwnershipContext,
  claims: readonly CompleteScope[],
): Promise<void> {
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

/** Rows that may be the other account's, for people. @param written undefined: not known */
function inWords(written: readonly WrittenRows[] | undefined): string {
  if (written === undefined) return '';
  if (written.length === 0) return ' (nothing was written since it last answered for its own)';
  const each = written.map(
    ({ collection: name, rows, first, last }) =>
      `${countOf(rows, 'row')} of ${name} (_change_id ${first} to ${last})`,
  );
  return ` (written since it last answered for its own: ${each.join(', ')})`;
}
