import type { Db } from '../../db/connection/db.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import type { ChangedTable } from '../../mirror/page-write.ts';
import {
  type PassedOver,
  type QuarantinedItem,
  quarantinedItems,
  quarantinedScopes,
  reasonsOf,
} from '../../mirror/quarantine/retry-items.ts';
import { collection, type CollectionName, type ListCollection, type Scope } from '../../model/collections.ts';
import { LeaseLost } from '../../model/errors.ts';
import { fieldSource } from '../../model/json/json-text.ts';
import { readKey } from '../../model/key.ts';
import { stateOf } from '../../model/row-state.ts';
import type { Item } from '../../model/page.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { ScopeSession } from '../../sync/scope/scope-session.ts';
import type { OpenAccount } from '../accounts/open-account.ts';
import { type RetriedCollection, RetryTally } from './quarantine-report.ts';

/** Items of one write: each may be megabytes long. */
const BATCH = 20;

export interface RetryPass {
  readonly db: Db;
  readonly collections: readonly CollectionName[];
  readonly signal: AbortSignal;
  readonly onProgress: (retried: RetriedCollection) => void;
  /** Called after a commit that changed rows: for NOTIFY. */
  readonly onChanged: (table: ChangedTable) => void;
}

const PASSED_OVER: Record<PassedOver, string> = {
  deleted: 'the row was deleted after it was last seen',
  unseen: 'the last complete reading did not see it: the service has it no more, or another text of it',
  unkept: 'its text is not kept, the collection having too many such items: the next reading tries it',
};

/**
 * Writes an account's quarantined items again, without a request. They take the one path by which rows change: each
 * batch is an observation of its scope, in order with the pages.
 * @throws LeaseLost; the signal's reason
 */
export async function retryQuarantined(account: OpenAccount, pass: RetryPass): Promise<RetriedCollection[]> {
  const { db, signal } = pass;
  const { userId } = account.fence;
  const tallies = new Map<CollectionName, RetryTally>();
  for (const scope of await quarantinedScopes(db, userId, pass.collections)) {
    signal.throwIfAborted();
    const tally = tallies.get(scope.collection) ?? new RetryTally(userId, scope.collection);
    tallies.set(scope.collection, tally);
    try {
      await retryScope(account, pass, scope, tally);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LeaseLost) throw error;
      tally.error ??= messageOf(error);
    }
    pass.onProgress(tally.report());
  }
  return [...tallies.values()].map((tally) => tally.report());
}

async function retryScope(
  account: OpenAccount,
  pass: RetryPass,
  scope: Scope,
  tally: RetryTally,
): Promise<void> {
  const { db, signal, onProgress } = pass;
  const found = collection(scope.collection);
  if (found.kind === 'single') {
    const { length } = await quarantinedItems(db, scope, '', BATCH);
    tally.leave('every poll reads it whole: there is nothing older to write', length);
    return;
  }
  await account.reader.withSession(scope, found, async (session) => {
    let after: string | undefined = '';
    while (after !== undefined) {
      signal.throwIfAborted();
      after = await retryBatch(account, pass, found, session, after, tally);
      onProgress(tally.report());
    }
  });
}

/**
 * Runs as an exchange of the scope's session: no page can come between reading the quarantine and the write.
 * @returns where to go on; undefined after the last batch
 */
async function retryBatch(
  { fence, mirror, clock }: OpenAccount,
  { db, onChanged }: RetryPass,
  list: ListCollection,
  session: ScopeSession,
  after: string,
  tally: RetryTally,
): Promise<string | undefined> {
  const { scope } = session;
  return session.exchange(
    () => Promise.resolve(),
    async (_, obs) => {
      const batch = await quarantinedItems(db, scope, after, BATCH);
      const tried: (Item & Pick<QuarantinedItem, 'hash'>)[] = [];
      for (const each of batch) {
        if (each.passed !== null) {
          tally.leave(PASSED_OVER[each.passed]);
          continue;
        }
        const item = itemOf(list, each);
        if (item.key === undefined) tally.leave(`the item ${item.problem ?? 'has no cursor ID'}`);
        else tried.push({ ...item, hash: each.hash });
      }
      if (tried.length > 0) {
        const seen = Math.min(...batch.map(({ lastSeenAt }) => lastSeenAt.getTime()));
        const age = (await databaseTime(db)).getTime() - seen;
        const result = await mirror.applyPage(fence, {
          scope,
          obs,
          after: session.committed,
          items: tried,
          again: true,
          // The items are as old as their last sighting: newer pages win.
          sentAfter: clock.monotonic() - age,
          // It proves nothing about what the service has now: neither other rows nor suspected deletions.
          decide: () => ({ scope: {} }),
        });
        if (result.state === 'applied') session.committed = obs;
        const reasons = await reasonsOf(
          db,
          scope,
          tried.map(({ hash }) => hash),
        );
        const reasonOf = (index: number): string =>
          `the item ${reasons.get(tried[index]?.hash ?? '') ?? 'is refused'}`;
        tally.count(result, tried.length, reasonOf);
        if (result.state === 'applied' && result.changed !== undefined) onChanged(result.changed);
      }
      return batch.length < BATCH ? undefined : batch.at(-1)?.hash;
    },
  );
}

function itemOf(list: ListCollection, { source }: QuarantinedItem): Item {
  const state = stateOf(JSON.parse(source) as Record<string, unknown>);
  const reading = readKey(list.keyType, fieldSource(source, list.keyField));
  return 'key' in reading
    ? { source, state, key: reading.key, problem: undefined }
    : { source, state, key: undefined, problem: reading.problem };
}
