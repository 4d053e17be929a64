import type { Secret } from '../config/secret.ts';
import { isDatabaseDown } from '../postgres/sql-state.ts';
import type { Fence } from '../postgres/fenced.ts';
import { AccountMoved, AccountRetired, LeaseLost, refusesKey } from '../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { service, untilAborted } from '@research-mirror/runtime/service';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { SharedAccount } from './share-keeper.ts';
import { refusedKeyWait } from './account-service.ts';
import { createAccountStore } from '../sync/account-store.ts';
import type { Account, ProcessContext } from './account.ts';
import { AccountUnservable } from './account-keys.ts';
import { AccountHeld, takeFor, withAccount, withLease } from './with-account.ts';

export type AccountRunner = ReturnType<typeof accountRunner>;

/** Waits (ms) before a failed account is opened again: doubling, since others may have it meanwhile. */
const BROKEN_MS = 5_000;
const LONGEST_BROKEN_MS = 60_000;
/** An account that was read for so long (ms) before it failed is opened again after the first wait. */
const LASTING_MS = 60_000;

/**
 * An account in the daemon: taken at its turn, run while this process owns it, waiting again after that.
 * @param onStanding called when the sharing has to look at the account
 * @param onBegun called when it begins to be read: what came due before was nobody's
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
  // Until its keys were judged, others are not to count on this daemon.
  let standing: ReturnType<SharedAccount['standing']> = 'unable';
  let worksSince = Number.POSITIVE_INFINITY;
  /** How often in a row the account could not be opened, and all its keys were refused while other daemons live. */
  let failures = 0;
  let refusals = 0;
  const stand = (next: typeof standing): void => {
    if (standing === next) return;
    standing = next;
    // What this daemon itself opens and closes needs no look.
    if (next === 'waits' || next === 'unable') onStanding();
  };

  /** The account that was taken last is to be opened again, which it may not be yet. */
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    void current?.service.stop();
  };

  /** Waits for the account's turn, and takes it; another process may have been faster. */
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
      // A key that was refused may have been replaced: the first answers say so again.
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
      await standStill(context, userId, messageOf(error), signal);
    }
  };

  /** @returns the wait (ms) before the account is opened again */
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
    // That it is retired, and that the database is down, is logged once for all.
    else if (error instanceof AccountRetired || isDatabaseDown(error))
      log.debug(`account ${userId}: ${messageOf(error)}`);
    else if (error instanceof LeaseLost) log.warn(`account ${userId}: ${messageOf(error)}`);
    else log.error({ err: error }, `account ${userId}: ${messageOf(error)}`);
    // Another daemon may do better, except where it is the database, or another daemon, that was in the way.
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
    /** What runs now; undefined while another process owns the account. */
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

/** Does nothing for an account that nothing may be asked for, until the signal aborts; the account's row says why. */
async function standStill(
  context: ProcessContext,
  userId: string,
  why: string,
  signal: AbortSignal,
): Promise<void> {
  context.log.error(`account ${userId} is not mirrored: ${why}`);
  try {
    // Not where another process owns the account: it may have what this one lacks.
    await withLease(context, userId, (fence) =>
      createAccountStore(context.db, fence).saveState('stopped', why),
    );
  } catch (error) {
    if (!(error instanceof AccountRetired || error instanceof AccountHeld)) throw error;
  }
  await untilAborted(signal);
}
