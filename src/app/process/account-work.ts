import { askDaemon } from '../../commands/ask-daemon.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { Secret } from '../../config/secret.ts';
import { type Holder, livingHolder } from '../../db/ownership/lease.ts';
import { AccountRetired, KeyRefused } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { askOwner, sortKeys } from '../accounts/find-owners.ts';
import type { OpenAccount, RunnerContext } from '../accounts/open-account.ts';
import { ownedBy, withAccount } from '../accounts/with-account.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';
import type { AccountCommand, Asked } from './account-command.ts';
import { asProcess } from './own-process.ts';
import type { WorkOptions } from './process.ts';
import { DAEMON } from './submit-carrier.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';

/** One run of a command. */
export interface CommandRun<A extends Asked, T> {
  readonly command: AccountCommand<T>;
  readonly asked: A;
  /** Does it for an account that this process owns. */
  readonly work: (account: OpenAccount, context: RunnerContext) => Promise<readonly T[]>;
  /** Get what happens meanwhile, as the log does; left out: none. */
  readonly observers?: readonly SyncObserver[];
}

export interface RunOptions<P> extends WorkOptions {
  readonly onProgress: (progress: P) => void;
}

export interface UnknownKey {
  /** As logs name it: the beginning of its hash. */
  readonly key: string;
  readonly error: string;
}

export interface WorkDone<T> {
  readonly results: readonly T[];
  /** Keys whose account is not known: the service refused them, or did not answer. */
  readonly unknownKeys: readonly UnknownKey[];
}

interface FoundAccount {
  readonly userId: string;
  readonly keys: readonly Secret[];
}

/**
 * Does the command for every account of the configured keys: by this process where it can take the account, else by
 * the daemon that owns it, under that one's lease and budget.
 * @throws what keeps all of it from being done; the signal's reason when it is aborted
 */
export async function workOnAccounts<A extends Asked, T, P>(
  config: ServiceConfig,
  options: RunOptions<P>,
  run: CommandRun<A, T>,
): Promise<WorkDone<T>> {
  const { command, observers = [] } = run;
  return asProcess(config, command.name, options, observers, ({ context }) =>
    workOnAll(context, options, run),
  );
}

async function workOnAll<A extends Asked, T, P>(
  context: RunnerContext,
  options: RunOptions<P>,
  run: CommandRun<A, T>,
): Promise<WorkDone<T>> {
  const { found, unknownKeys } = await findAccounts(context, options.signal);
  const results: T[] = [];
  const byDaemon = new Map<string, string[]>();
  for (const next of found) {
    const outcome = await workOnOne(context, next, options.signal, run);
    if ('results' in outcome) {
      results.push(...outcome.results);
    } else if (outcome.holder.command === DAEMON) {
      const { processId } = outcome.holder;
      byDaemon.set(processId, [...(byDaemon.get(processId) ?? []), next.userId]);
    } else {
      results.push(...notDone(run, next.userId, ownedBy(next.userId, outcome.holder)));
    }
  }
  for (const [processId, userIds] of byDaemon) {
    results.push(...(await workOfDaemon(context, options, run, processId, userIds)));
  }
  return { results, unknownKeys };
}

function notDone<A extends Asked, T>({ command, asked }: CommandRun<A, T>, userId: string, why: string): T[] {
  return asked.collections.map((name) => command.notDone(userId, name, why));
}

async function workOnOne<A extends Asked, T>(
  context: RunnerContext,
  { userId, keys }: FoundAccount,
  signal: AbortSignal,
  run: CommandRun<A, T>,
): Promise<{ readonly results: readonly T[] } | { readonly holder: Holder }> {
  try {
    const used = await withAccount(context, { userId, keys, signal }, (account) =>
      run.work(account, context),
    );
    if (used.state === 'owned') return { holder: used.by };
    return { results: used.state === 'done' ? used.result : notDone(run, userId, used.why) };
  } catch (error) {
    // A refused key, or a retired account, stops that account only: the work on others goes on.
    if (!(error instanceof KeyRefused || error instanceof AccountRetired)) throw error;
    return { results: notDone(run, userId, messageOf(error)) };
  }
}

async function workOfDaemon<A extends Asked, T, P>(
  { db, identity, link }: RunnerContext,
  { signal, onProgress }: RunOptions<P>,
  { command, asked }: CommandRun<A, T>,
  processId: string,
  userIds: readonly string[],
): Promise<readonly T[]> {
  const request = { kind: command.name, arguments: { userIds, ...asked }, to: processId };
  const result = await askDaemon(db, request, {
    clock: link.clock,
    signal,
    onProgress: (progress) => {
      for (const each of progress as P[]) onProgress(each);
    },
    lives: async () => (await livingHolder(db, processId, identity)) !== undefined,
  });
  return result as readonly T[];
}

/**
 * The accounts of all keys whose owner is known. A key that is refused, or can't be asked for, delays no other.
 * @throws the first key's error, when no account is known at all
 */
async function findAccounts(
  context: RunnerContext,
  signal: AbortSignal,
): Promise<{ readonly found: readonly FoundAccount[]; readonly unknownKeys: readonly UnknownKey[] }> {
  const { byOwner, unknown } = await sortKeys(context, context.config.service.keys);
  const found = new Map<string, FoundAccount>(
    [...byOwner].map(([userId, keys]) => [userId, { userId, keys }]),
  );
  const unknownKeys: UnknownKey[] = [];
  let first: unknown;
  for (const key of unknown) {
    const name = hashOfKey(key).slice(0, 8);
    try {
      const userId = await askOwner(context, key, signal);
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
