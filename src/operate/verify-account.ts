/** `verify` of one account: which collections, by whom, and the result. */

import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped } from '@research-mirror/runtime/service';
import { type AccountCommand, runCommand, type RunOptions } from '../account/account-command.ts';
import type { CommandArguments } from '../account/account-command.ts';
import type { ServiceConfig } from '../config/config.ts';
import { parentsWithRows, type Sample, sampleKeys } from '../mirror/live-rows.ts';
import { ruleOf } from '../mirror/mirror.ts';
import { readScope } from '../mirror/scope-store.ts';
import { childrenOf, collection, type Collection, COLLECTION_NAMES } from '../model/collections.ts';
import type { CollectionName } from '../model/collections.ts';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import { rateGroup } from '../service/rate-groups.ts';
import { readMemory } from '../walk/memory.ts';
import { itemsOfFullPage } from '../walk/reading.ts';
import { MOST_LISTED, notVerified, verifyScope } from './verify-scope.ts';
import type { Discrepancy, ScopeVerification, VerifiedCollection, VerifyProgress } from './verify-scope.ts';

/** `sample`: null: everything is compared. An older version leaves it out. */
type VerifyRequest = CommandArguments & { readonly sample?: Sample | null };

export const VERIFY: AccountCommand<VerifyRequest, VerifiedCollection, VerifyProgress> = {
  name: 'verify',
  notDone: notVerified,
  work: (account, { collections, sample = null }, { context, isDaemon, signal, onProgress }) => {
    const { reader } = account;
    const { db, config } = context;
    const asked = { context: account.reading, db, config, collections, sample, signal, onProgress };
    // A process of its own polls nothing.
    if (!isDaemon) return verifyAccount(asked);
    const catchUp = async (name: CollectionName): Promise<void> => {
      const found = collection(name);
      // Failures here occur in the daemon's own polls, too, which report them.
      const isOfLists = found.kind === 'list' && found.parent !== undefined;
      if (isOfLists) await reader.readDue(name, signal);
      else await reader.read(name, { what: 'poll', signal });
    };
    return verifyAccount({ ...asked, catchUp });
  },
};

export type VerifyReport = Awaited<ReturnType<typeof runVerify>>;

/**
 * Compares the mirror with the service, by the daemon that owns the accounts, otherwise by this process. Writes no row.
 * @returns `equal`: every collection was read, and nothing compared is missing, extra or different
 * @throws what keeps all of it from being read; the signal's reason
 */
export async function runVerify(config: ServiceConfig, options: RunOptions<VerifyProgress>, asked: VerifyRequest) {
  const { results, unknownKeys } = await runCommand(config, options, VERIFY, asked);
  const equal =
    unknownKeys.length === 0 &&
    results.every(({ missing, extra, different, error }) => missing + extra + different === 0 && error === null);
  return { equal, collections: results, unknownKeys };
}

/** Lists read concurrently. The rate limit decides the pace; this only hides latency. */
const LIST_WORKERS = 4;

interface AccountVerification extends Pick<ScopeVerification, 'context' | 'db' | 'signal'>, Required<VerifyRequest> {
  readonly config: Parameters<typeof ruleOf>[1];
  readonly onProgress: (progress: VerifyProgress) => void;
  /** Polls before differing rows are read again, so that newer rows are no difference. Only in a daemon. */
  readonly catchUp?: (name: CollectionName) => Promise<void>;
}

/** A verified collection, and its keys at the service if rows of another collection depend on them. */
type Verify = (name: CollectionName) => Promise<readonly [VerifiedCollection, ReadonlySet<string>]>;

/** Compares an account's collections concurrently. @throws LeaseLost, KeyRefused; the signal's reason */
export async function verifyAccount(of: AccountVerification): Promise<VerifiedCollection[]> {
  const begun = new Map<CollectionName, ReturnType<Verify>>();
  const verify: Verify = (name) => {
    const verified = begun.get(name) ?? verifyCollection(of, collection(name), verify);
    begun.set(name, verified);
    return verified;
  };
  const all = COLLECTION_NAMES.filter((name) => of.collections.includes(name)).map(verify);
  await Promise.allSettled(all);
  return (await Promise.all(all)).map(([tally]) => tally);
}

async function verifyCollection(of: AccountVerification, found: Collection, verify: Verify): ReturnType<Verify> {
  const { context, config, signal, onProgress, catchUp } = of;
  const { name } = found;
  const { userId } = context.fence;
  const sample = found.kind === 'list' ? of.sample : null;
  const begin = context.clock.monotonic();
  const { liveRows } = await context.store.standingOf(name);
  const tally = notVerified(userId, name, null, await estimateOf(of, found, liveRows), sample?.rows);
  if (sample !== null) tally.rows = liveRows;
  const keys = new Set<string>();
  const onPage = (read: readonly string[]): void => {
    if (childrenOf(name).length > 0) for (const key of read) keys.add(key);
    onProgress({ userId, collection: name, items: tally.items, estimate: tally.estimate });
  };
  onPage([]);
  const rules = {
    ignore: new Set(config.ignoreFields[name]),
    exclude: new Set(config.excludeFields[name]),
    rule: ruleOf(name, config),
  };
  const shared = { ...of, rules, tally, onPage, catchUp: catchUp && (() => catchUp(name)) };
  try {
    const scopes = await scopesOf(of, found, verify);
    await forEachConcurrently([...scopes], LIST_WORKERS, ([parent, chosen]) =>
      verifyScope({ ...shared, scope: { userId, collection: name, parent }, sample: chosen }),
    );
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof LeaseLost || cause instanceof KeyRefused || isStopped(cause)) throw cause;
    tally.error = messageOf(cause);
  }
  const isOpen = ({ kind }: Discrepancy): number => (kind === 'changed' ? 1 : 0);
  tally.discrepancies = tally.discrepancies.toSorted((a, b) => isOpen(a) - isOpen(b)).slice(0, MOST_LISTED);
  tally.milliseconds = Math.round(context.clock.monotonic() - begin);
  return [tally, keys];
}

/** What to read of a collection, by parent: keys of the chosen rows; undefined: everything. */
async function scopesOf({ context, db, sample }: AccountVerification, found: Collection, verify: Verify) {
  const { name } = found;
  const { userId } = context.fence;
  if (found.kind === 'single') return new Map([['', undefined]]);
  if (sample !== null) {
    const chosen = await sampleKeys(db, userId, name, sample);
    // The first page is read anyway, even if the mirror has no rows of the collection.
    return found.parent !== undefined || chosen.size > 0 ? chosen : new Map([['', []]]);
  }
  if (found.parent === undefined) return new Map([['', undefined]]);
  // All lists of the service, and other lists with live items in the mirror.
  const [{ error }, parents] = await verify(found.parent.collection);
  if (error !== null) throw new Error(error);
  const keys = new Set([...parents, ...(await parentsWithRows(db, userId, name))]);
  return new Map([...keys].map((key) => [key, undefined]));
}

/** What the first reading takes: pages for the rows, and at least one page for each list. */
async function estimateOf({ context, db, sample }: AccountVerification, found: Collection, rows: number) {
  const { store, source, fence } = context;
  let requests = 1;
  if (found.kind === 'list') {
    const stored = await readScope(db, { userId: fence.userId, collection: found.name, parent: '' });
    const { value, widest, fits } = readMemory(stored?.memory ?? {}, found.keyType).limit;
    const lists = found.parent === undefined ? 1 : (await store.standingOf(found.parent.collection)).liveRows;
    const pages = Math.ceil(rows / (fits ?? (widest || itemsOfFullPage(value))));
    requests = Math.max(lists, lists - 1 + pages);
    // The first page of a list is read, too.
    if (sample !== null) requests = Math.min(requests, sample.rows + 1);
  }
  return { requests, seconds: Math.ceil((requests * 60) / source.sizeOf(rateGroup('GET', found.route))) };
}
