import { askDaemon } from '../../commands/ask-daemon.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { Secret } from '../../config/secret.ts';
import { type Holder, livingHolder } from '../../db/ownership/lease.ts';
import { AccountRetired, KeyRefused } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { RunnerContext } from '../accounts/runner-context.ts';
import { askOwner, sortKeys } from '../accounts/find-owners.ts';
import type { OpenAccount } from '../accounts/open-account.ts';
import { ownedBy, withAccount } from '../accounts/with-account.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';
import { asProcess, type WorkOptions } from './own-process.ts';
import { DAEMON } from './submit-carrier.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';

/** What a command does account by account, and what it asks of a daemon that holds one. */
export interface AccountWork<T> {
  /** `verify`: what others see of this process, and what the daemon is asked for. */
  readonly command: string;
  /** Whether the service may be asked whose a key is; without it, keys never seen before are told as unknown. */
  readonly asksService: boolean;
  /** Of the request to the daemon, beside the accounts: JSON. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Does it for an account that this process holds. */
  readonly own: (account: OpenAccount, context: RunnerContext) => Promise<readonly T[]>;
  /** Told of what happens meanwhile, beside the log; left out: nobody. */
  readonly observers?: readonly SyncObserver[];
  /** Takes what the daemon reports on the way. */
  readonly onProgress: (progress: unknown) => void;
  /** Tells that it was not done for an account. */
  readonly notDone: (userId: string, why: string) => readonly T[];
}

export interface UnknownKey {
  /** By which logs name it: the beginning of its hash. */
  readonly key: string;
  readonly error: string;
}

export interface WorkDone<T> {
  readonly results: readonly T[];
  /** Keys whose account nobody knows: refused by the service, or not answered. */
  readonly unknownKeys: readonly UnknownKey[];
}

/** An account and its keys. */
interface FoundAccount {
  readonly userId: string;
  readonly keys: readonly Secret[];
}

/**
 * Does the work for every account of the configured keys: by this process where it can take the account, else by the
 * daemon that holds it, under that one's lease and budget.
 * @throws what keeps all of it from being done; the signal's reason when it is aborted
 */
export async function workOnAccounts<T>(
  config: ServiceConfig,
  options: WorkOptions,
  work: AccountWork<T>,
): Promise<WorkDone<T>> {
  return asProcess(config, work.command, options, work.observers ?? [], ({ context }) =>
    workOnAll(config, context, options.signal, work),
  );
}

async function workOnAll<T>(
  config: ServiceConfig,
  context: RunnerContext,
  signal: AbortSignal,
  work: AccountWork<T>,
): Promise<WorkDone<T>> {
  const { found, unknownKeys } = await findAccounts(config, context, work.asksService, signal);
  const results: T[] = [];
  const byDaemon = new Map<string, string[]>();
  for (const next of found) {
    const outcome = await workOnOne(context, next, signal, work);
    if ('results' in outcome) {
      results.push(...outcome.results);
    } else if (outcome.holder.command === DAEMON) {
      const { processId } = outcome.holder;
      byDaemon.set(processId, [...(byDaemon.get(processId) ?? []), next.userId]);
    } else {
      results.push(...work.notDone(next.userId, ownedBy(next.userId, outcome.holder)));
    }
  }
  for (const [processId, userIds] of byDaemon) {
    results.push(...(await workOfDaemon(context, signal, work, processId, userIds)));
  }
  return { results, unknownKeys };
}

async function workOnOne<T>(
  context: RunnerContext,
  { userId, keys }: FoundAccount,
  signal: AbortSignal,
  work: AccountWork<T>,
): Promise<{ readonly results: readonly T[] } | { readonly holder: Holder }> {
  try {
    const used = await withAccount(context, { userId, keys, signal }, (account) =>
      work.own(account, context),
    );
    if (used.state === 'owned') return { holder: used.by };
    return { results: used.state === 'done' ? used.result : work.notDone(userId, used.why) };
  } catch (error) {
    // A refused key, or a retired account, stops that account only: the work on others goes on.
    if (!(error instanceof KeyRefused || error instanceof AccountRetired)) throw error;
    return { results: work.notDone(userId, messageOf(error)) };
  }
}

async function workOfDaemon<T>(
  { db, identity, link }: RunnerContext,
  signal: AbortSignal,
  work: AccountWork<T>,
  processId: string,
  userIds: readonly string[],
): Promise<readonly T[]> {
  const request = { kind: work.command, arguments: { userIds, ...work.arguments }, to: processId };
  const result = await askDaemon({ db }, request, {
    clock: link.clock,
    signal,
    onProgress: work.onProgress,
    lives: async () => (await livingHolder(db, processId, identity)) !== undefined,
  });
  return result as readonly T[];
}

/**
 * Accounts of all keys that have one. A key that is refused, or can't be asked for, holds up no other.
 * @throws what the first key was answered with, when no account is known at all
 */
async function findAccounts(
  config: ServiceConfig,
  { db, link }: RunnerContext,
  asksService: boolean,
  signal: AbortSignal,
): Promise<{ readonly found: readonly FoundAccount[]; readonly unknownKeys: readonly UnknownKey[] }> {
  const register = { db, schema: config.schema, link };
  const { byOwner, unknown } = await sortKeys(register, config.service.keys);
  const found = new Map<string, FoundAccount>(
    [...byOwner].map(([userId, keys]) => [userId, { userId, keys }]),
  );
  const unknownKeys: UnknownKey[] = [];
  let first: unknown;
  for (const key of unknown) {
    const name = hashOfKey(key).slice(0, 8);
    if (!asksService) {
      unknownKeys.push({ key: name, error: 'its account is not known yet: "research-mirror sync" first' });
      continue;
    }
    try {
      const userId = await askOwner(register, key, signal);
      found.set(userId, { userId, keys: [...(found.get(userId)?.keys ?? []), key] });
    } catch (error) {
      signal.throwIfAborted();
      first ??= error;
      unknownKeys.push({ key: name, error: messageOf(error) });
    }
  }
  if (found.size === 0 && first !== undefined) throw first;
  return { found: [...found.values()], unknownKeys };
}
