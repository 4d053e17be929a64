import { Doorbell } from '@research-mirror/runtime/doorbell';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { service, untilAborted } from '@research-mirror/runtime/service';
import type { Secret } from '../config/secret.ts';
import { AccountMoved, AccountRetired, LeaseLost, refusesKey } from '../model/errors.ts';
import type { Fence } from '../postgres/fenced.ts';
import { isDatabaseDown } from '../postgres/sql-state.ts';
import { createAccountStore } from '../sync/account-store.ts';
import { AccountUnservable } from './account-keys.ts';
import { refusedKeyWait } from './account-service.ts';
import type { Account } from './account.ts';
import type { ProcessContext } from './process.ts';
import type { SharedAccount } from './share-keeper.ts';
import { AccountHeld, takeFor, withAccount, withLease } from './with-account.ts';

export type AccountRunner = ReturnType<typeof accountRunner>;

/** First and longest delay before a failed account is reopened, ms. It doubles, since others may own it meanwhile. */
const BROKEN_MS = 5_000;
const LONGEST_BROKEN_MS = 60_000;
/** An account that ran this long before it failed is reopened after the first delay, ms. */
const LASTING_MS = 60_000;

/**
 * An account in the daemon: it waits for its turn, is taken, runs while this process owns it, and waits again.
 * @param onStanding called if the sharing has to look at the account
 * @param onBegun called once it is read: what came due before was not picked up
 */
export function accountRunner(
  context: ProcessContext,
  userId: string,
  keys: readonly Secret[],
  onStanding: () => void,
  onBegun: () => void,
) {
  const { log, link } = context;
  const turn = new Doorbell();
  let current: Account | undefined;
  // Other daemons must not count on this one before the keys are checked.
  let standing: ReturnType<SharedAccount['standing']> = 'unable';
  let worksSince = Number.POSITIVE_INFINITY;
  /** Number of consecutive failures to open the account, and refusals of all its keys while other daemons live. */
  let failures = 0;
  let refusals = 0;
  const stand = (next: typeof standing): void => {
    if (standing === next) return;
    standing = next;
    // No look is needed for what this daemon itself opens and closes.
    if (next === 'waits' || next === 'unable') onStanding();
  };

  /** The account has to be reopened. */
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    void current?.service.stop();
  };

  /** Waits for the account's turn and takes it; another process may have been faster. */
  const takeAtTurn = async (signal: AbortSignal): Promise<Fence> => {
    for (;;) {
      stand('waits');
      await turn.heard(signal);
      stand('busy');
      try {
        const fence = await takeFor(context, userId);
        isEnded = false;
        return fence;
      } catch (error) {
        if (!(error instanceof AccountRetired || error instanceof AccountHeld)) throw error;
      }
    }
  };

  const runOnce = async (signal: AbortSignal): Promise<void> => {
    const over = new AbortController();
    const run = async (account: Account): Promise<void> => {
      if (refusals > 0) await askAgain(account, signal);
      refusals = 0;
      // A refused key may have been replaced; the first answers tell.
      await account.store.saveState('active', null);
      await account.store.correctRuns(context.config.collections, context.schedule.of(userId));
      const running = account.service;
      current = account;
      stand('works');
      worksSince = link.clock.monotonic();
      signal.addEventListener('abort', () => void running.stop(), { signal: over.signal });
      if (signal.aborted || isEnded) return;
      await running.start();
      onBegun();
      const error = await running.ended;
      if (error !== undefined) throw error;
    };
    const beforeClose = (): void => {
      over.abort();
      current = undefined;
      stand('busy');
    };
    const take = (): Promise<Fence> => takeAtTurn(signal);
    try {
      await withAccount(context, { userId, keys, signal, take, end, beforeClose }, run);
    } catch (error) {
      if (!(error instanceof AccountUnservable)) throw error;
      stand('unable');
      await standStill(messageOf(error), signal);
    }
  };

  /** Waits until the signal aborts, for an account without usable keys; stores the reason in the account's row. */
  const standStill = async (why: string, signal: AbortSignal): Promise<void> => {
    log.error(`account ${userId} is not mirrored: ${why}`);
    try {
      // Unless another process owns the account: it may have a usable key.
      await withLease(context, userId, (fence) =>
        createAccountStore(context.db, fence).saveState('stopped', why),
      );
    } catch (error) {
      if (!(error instanceof AccountRetired || error instanceof AccountHeld)) throw error;
    }
    await untilAborted(signal);
  };

  /** @returns the delay before the account is reopened, ms */
  const afterFailure = (error: unknown): number => {
    context.failures.noted(error);
    if (refusesKey(error)) {
      stand('unable');
      const waitMs = refusedKeyWait(refusals);
      refusals += 1;
      const again = `asked again in ${waitMs / 1000} s, unless another daemon has a good key`;
      log.warn(`account ${userId}: ${messageOf(error)}; ${again}`);
      return waitMs;
    }
    if (error instanceof AccountMoved)
      log.error(`account ${userId} has stopped: ${messageOf(error)}; its data stays`);
    // A retired account and a database that is down are logged elsewhere.
    else if (error instanceof AccountRetired || isDatabaseDown(error))
      log.debug(`account ${userId}: ${messageOf(error)}`);
    else if (error instanceof LeaseLost) log.warn(`account ${userId}: ${messageOf(error)}`);
    else log.error({ err: error }, `account ${userId}: ${messageOf(error)}`);
    // Another daemon may succeed, unless the database or another daemon was the cause.
    if (error instanceof LeaseLost || error instanceof DatabaseUnavailable) return BROKEN_MS;
    stand('unable');
    if (link.clock.monotonic() - worksSince >= LASTING_MS) failures = 0;
    failures += 1;
    return Math.min(LONGEST_BROKEN_MS, BROKEN_MS * 2 ** (failures - 1));
  };

  const body = service(`account ${userId}`, async ({ signal, ready }) => {
    ready();
    for (;;) {
      worksSince = Number.POSITIVE_INFINITY;
      try {
        await runOnce(signal);
        signal.throwIfAborted();
      } catch (error) {
        if (signal.aborted) throw error;
        await link.clock.sleep(afterFailure(error), signal);
      }
    }
  });
  return {
    ...body,
    userId,
    /** The running account; undefined while another process owns it. */
    current: () => current,
    standing: () => standing,
    take: () => turn.ring(),
    giveUp: end,
  };
}

/** @throws KeyRefused while no key is good; what pings throw */
async function askAgain({ source, store }: Account, stop: AbortSignal): Promise<void> {
  try {
    await source.ping({ signal: new AbortController().signal, stop });
  } catch (error) {
    if (refusesKey(error)) await store.saveState('stopped', messageOf(error));
    throw error;
  }
}
