import type { Db } from '../../db/connection/db.ts';
import type { Exchange } from '../../api/api.ts';
import type { StorageRules } from '../../mirror/page/compare-rows.ts';
import { nextParent } from '../../mirror/rows/live-rows.ts';
import {
  childrenOf,
  collection,
  COLLECTION_NAMES,
  type CollectionName,
  type ListCollection,
  parentsOf,
} from '../../model/collections.ts';
import { KeyRefused, LeaseLost } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped } from '@research-mirror/runtime/service';
import type { ReadingContext } from '../reader/reading-context.ts';
import { Findings } from './findings.ts';
import { notVerified, type VerifiedCollection, type VerifyProgress } from './report.ts';
import { verifyScope } from './verify-scope.ts';
import { verifySingle } from './verify-single.ts';

/** Lists that are read side by side. The budget decides the pace; this only hides latency. */
const LIST_WORKERS = 4;

export interface AccountVerification {
  readonly context: Pick<ReadingContext, 'fence' | 'source' | 'store' | 'clock'>;
  readonly db: Db;
  readonly rules: (name: CollectionName) => StorageRules;
  readonly collections: readonly CollectionName[];
  readonly signal: AbortSignal;
  readonly onProgress: (progress: VerifyProgress) => void;
  /**
   * Polls the collection before differing rows are read again, so that rows since the last poll are no difference.
   * Given where a daemon polls anyway; else nothing of the mirror is written.
   */
  readonly catchUp?: (name: CollectionName) => Promise<void>;
}

/** The verification of a collection without parent; `keys` are the service's, collected where it has lists. */
interface Begun {
  readonly verified: Promise<VerifiedCollection>;
  readonly keys: ReadonlySet<string>;
}

/**
 * Reads an account's collections again within its budget, side by side, and compares them with the mirror, which it
 * does not write. Where a collection can't be read, its `error` says why.
 * @throws LeaseLost, KeyRefused; the signal's reason
 */
export async function verifyAccount(of: AccountVerification): Promise<VerifiedCollection[]> {
  const chosen = COLLECTION_NAMES.filter((name) => of.collections.includes(name));
  const begun = new Map<CollectionName, Begun>();
  const begin = (name: CollectionName): Begun => {
    const keys = new Set<string>();
    const wanted = childrenOf(name).some((child) => chosen.includes(child.name));
    const made = begun.get(name) ?? {
      verified: verifyCollection(of, name, wanted ? (key) => keys.add(key) : undefined),
      keys,
    };
    begun.set(name, made);
    return made;
  };
  const verified = chosen.map(async (name) => {
    const found = collection(name);
    if (found.kind === 'single' || found.parent === undefined) return begin(name).verified;
    const parents = begin(parentsOf(found).table);
    const { error } = await parents.verified;
    if (error !== null) return notVerified(of.context.fence.userId, name, error);
    return verifyLists(of, found, parents.keys);
  });
  const ended = await Promise.allSettled(verified);
  const rejected = ended.find((each) => each.status === 'rejected');
  if (rejected !== undefined) throw rejected.reason;
  return ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
}

async function verifyCollection(
  of: AccountVerification,
  name: CollectionName,
  onKey: ((key: string) => void) | undefined,
): Promise<VerifiedCollection> {
  const found = collection(name);
  return measured(of, name, async (tally) => {
    if (found.kind === 'list') return verifyOne(of, found, '', tally, onKey);
    const { context, db, signal } = of;
    const { findings, onExchange } = tally;
    const rules = of.rules(name);
    const verification = {
      context,
      userId: context.fence.userId,
      collection: found,
      db,
      rules,
      signal,
    };
    const { rows } = await verifySingle({ ...verification, findings, onExchange });
    tally.onPage({ items: 1, unequal: 0 });
    return rows;
  });
}

/** Verifies every list of the service, and every other one that has live items in the mirror. */
async function verifyLists(
  of: AccountVerification,
  lists: ListCollection,
  keys: ReadonlySet<string>,
): Promise<VerifiedCollection> {
  return measured(of, lists.name, async (tally) => {
    const left = parentsToRead(of, lists, keys);
    let rows = 0;
    const work = async (): Promise<void> => {
      try {
        for (let next = await left.next(); next.done !== true; next = await left.next()) {
          const read = await verifyOne(of, lists, next.value, tally);
          rows += read;
        }
      } catch (error) {
        // The other workers find nothing more to do.
        await left.return(undefined);
        throw error;
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: LIST_WORKERS }, work));
    const rejected = ended.find((each) => each.status === 'rejected');
    if (rejected !== undefined) throw rejected.reason;
    return rows;
  });
}

async function* parentsToRead(
  { db, context }: AccountVerification,
  lists: ListCollection,
  keys: ReadonlySet<string>,
): AsyncGenerator<string, undefined> {
  yield* keys;
  const { userId } = context.fence;
  let last = await nextParent(db, userId, lists.name, undefined);
  while (last !== undefined) {
    if (!keys.has(last)) yield last;
    last = await nextParent(db, userId, lists.name, last);
  }
  return undefined;
}

/** @returns live rows of the mirror */
function verifyOne(
  of: AccountVerification,
  list: ListCollection,
  parent: string,
  { findings, onPage, onExchange }: Tally,
  onKey?: (key: string) => void,
): Promise<number> {
  const { context, db, signal, catchUp } = of;
  const scope = { userId: context.fence.userId, collection: list.name, parent };
  return verifyScope({
    reading: { context, scope, collection: list, signal, onExchange },
    db,
    rules: of.rules(list.name),
    findings,
    onPage,
    ...(catchUp === undefined ? {} : { catchUp: () => catchUp(list.name) }),
    ...(onKey === undefined ? {} : { onKey }),
  });
}

/** What is counted on the way. */
interface Tally {
  readonly findings: Findings;
  readonly onPage: (page: { readonly items: number; readonly unequal: number }) => void;
  readonly onExchange: (exchange: Exchange) => void;
}

/** @param verify returns the mirror's live rows */
async function measured(
  { context, onProgress, signal }: AccountVerification,
  collection: CollectionName,
  verify: (tally: Tally) => Promise<number>,
): Promise<VerifiedCollection> {
  const { userId } = context.fence;
  const begin = context.clock.monotonic();
  const findings = new Findings();
  let [items, unequal, requests, rateLimited, rows] = [0, 0, 0, 0, 0];
  let error: string | null = null;
  try {
    rows = await verify({
      findings,
      onPage: (page) => {
        items += page.items;
        unequal += page.unequal;
        onProgress({ userId, collection, items, unequal });
      },
      onExchange: ({ status }) => {
        requests += 1;
        if (status === 429) rateLimited += 1;
      },
    });
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof LeaseLost || cause instanceof KeyRefused || isStopped(cause)) throw cause;
    error = messageOf(cause);
  }
  return {
    userId,
    collection,
    items,
    rows,
    ...findings.counts(),
    discrepancies: findings.listed(),
    requests,
    rateLimited,
    milliseconds: Math.round(context.clock.monotonic() - begin),
    error,
  };
}
