import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import type { Secret } from '../config/secret.ts';
import { DatabaseWentBack, LeaseLost } from '../model/errors.ts';
import { databaseTime } from '../postgres/db.ts';
import type { Fence } from '../postgres/fenced.ts';
import { recordRecovery } from '../postgres/hold.ts';
import { openInstallation } from '../postgres/installation.ts';
import { ensureAccount, type LivingProcess, releaseAccount, takeAccount } from '../postgres/lease.ts';
import { servableKeys } from './account-keys.ts';
import { type Account, openAccount } from './account.ts';
import type { ProcessContext } from './process.ts';

/** Delay before another attempt to store that the database went back, ms. */
const AGAIN_MS = 1_000;

/**
 * Runs `task` on an account that this process owns. If it finds that the database went back, that is stored first, so
 * that accounts are reread when they are opened; the attempt is repeated, since no other process may have noticed.
 * @throws errors of `task`; the signal's reason
 */
async function notingRecovery<T>(
  { db, link: { clock }, log }: Pick<ProcessContext, 'db' | 'link' | 'log'>,
  fence: Fence,
  signal: AbortSignal,
  task: () => Promise<T>,
): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof DatabaseWentBack)) throw error;
    for (;;) {
      try {
        if (error.by === 'commits') await recordRecovery(db, fence, error);
        // A new timeline is compared with the stored one: only one of several processes stores it.
        else await openInstallation({ db, host: undefined, clock }, signal);
        throw error;
      } catch (cause) {
        if (!(cause instanceof DatabaseUnavailable)) throw cause;
        log.warn(`account ${fence.userId}: ${messageOf(error)}. This is not stored yet: ${messageOf(cause)}`);
        await clock.sleep(AGAIN_MS, signal);
      }
    }
  }
}

/** Another living process owns the account; nothing was done. */
export class AccountHeld extends LeaseLost {
  readonly by: LivingProcess;
  constructor(userId: string, by: LivingProcess) {
    super(ownedBy(userId, by));
    this.by = by;
  }
}

/** Takes the account, opens it, runs `work` and closes it. @throws AccountRetired, AccountHeld, AccountUnservable */
export async function withAccount<T>(
  context: ProcessContext,
  options: {
    readonly userId: string;
    readonly keys: readonly Secret[];
    readonly signal: AbortSignal;
    /** Takes the account; left out: one attempt. */
    readonly take?: () => Promise<Fence>;
    /** Ends the work: the account is lost or has to be reopened. */
    readonly end?: () => void;
    /** Called after the work, before the account is closed. */
    readonly beforeClose?: () => void;
  },
  work: (account: Account) => Promise<T>,
): Promise<T> {
  const { userId, keys, signal, take = () => takeFor(context, userId), end, beforeClose } = options;
  await ensureAccount(context.db, userId, await databaseTime(context.db));
  await servableKeys(context, userId, keys);
  const fence = await take();
  const noting = <R>(task: () => Promise<R>): Promise<R> => notingRecovery(context, fence, signal, task);
  // At once: waiting for a place may take longer than the heartbeat keeps accounts without work.
  context.owned.add(fence, end);
  let account: Account;
  try {
    // Checked again: it may have waited for days, and a key may belong to another account by now.
    const good = await servableKeys(context, userId, keys);
    account = await noting(() => context.starts.begin(() => openAccount(context, fence, good), signal));
  } catch (error) {
    context.owned.remove(fence);
    // If the database is away, a later heartbeat gives the account up.
    await releaseAccount(context.urgentDb, fence).catch(() => {});
    await context.onReleased();
    throw error;
  }
  try {
    return await noting(() => work(account));
  } finally {
    beforeClose?.();
    await account.close();
  }
}

/** Runs `work` under the account's lease, without opening the account. @throws AccountRetired, AccountHeld */
export async function withLease<T>(
  owner: Parameters<typeof takeFor>[0],
  userId: string,
  work: (fence: Fence) => Promise<T>,
): Promise<T> {
  const fence = await takeFor(owner, userId);
  try {
    return await work(fence);
  } finally {
    await releaseAccount(owner.urgentDb, fence);
  }
}

/** @throws AccountRetired, AccountHeld */
export async function takeFor(
  { urgentDb, processId, identity }: Pick<ProcessContext, 'urgentDb' | 'processId' | 'identity'>,
  userId: string,
): Promise<Fence> {
  const taken = await takeAccount(urgentDb, userId, processId, identity);
  if (taken.state === 'owned') throw new AccountHeld(userId, taken.by);
  return taken.fence;
}

export function ownedBy(userId: string, { command, pid, here }: LivingProcess): string {
  const where = here ? `process ${pid}` : `process ${pid} on another machine`;
  return `account ${userId} is held by "research-mirror ${command}" (${where})`;
}
