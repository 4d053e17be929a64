/** All accounts of the configured keys: each is taken, run, and handed over; one that fails does not delay others. */

import { Doorbell } from '@research-mirror/runtime/doorbell';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { Mutex } from '@research-mirror/runtime/mutex';
import { service, untilAborted } from '@research-mirror/runtime/service';
import { hashOfKey, type Secret } from '../config/secret.ts';
import { AccountMoved, AccountRetired, KeyRefused, LeaseLost, refusesKey, ServiceDown } from '../model/errors.ts';
import type { Fence } from '../postgres/fenced.ts';
import { createFleetStore } from '../postgres/lease.ts';
import { isDatabaseDown } from '../postgres/sql-state.ts';
import { createAccountStore } from '../sync/account-store.ts';
import { AccountUnservable, askOwner, sortKeys } from './account-keys.ts';
import { refusedKeyWait } from './account-service.ts';
import type { Account } from './account.ts';
import type { ProcessContext } from './process.ts';
import { type SharedAccount, shareKeeper } from './share-keeper.ts';
import { AccountHeld, takeFor, withAccount, withLease } from './with-account.ts';

export type AccountsService = ReturnType<typeof accountsService>;

/** Longest delay before the owner of a key is asked for again after no answer, ms. */
const LONGEST_WAIT_MS = 60_000;

/**
 * All accounts of the configured keys. A refused key or one without an answer does not delay others.
 * @param onBegun called when an account begins to be read
 */
export function accountsService(context: ProcessContext, keys: readonly Secret[], onBegun = (): void => {}) {
  const { log, link } = context;
  const runners = new Map<string, { runner: AccountRunner; keys: readonly Secret[] }>();
  const unknown = new Map<string, string>();
  const turns = new Mutex();
  const bell = new Doorbell();
  const all = (): readonly AccountRunner[] => Array.from(runners.values(), ({ runner }) => runner);
  /** Number of keys without a known owner; undefined before they are sorted. */
  let strangers: number | undefined;

  /** Runs the account, or restarts it with more keys. One at a time: two runners would take it from each other. */
  const run = (userId: string, more: readonly Secret[], signal: AbortSignal): Promise<void> =>
    turns.run(async () => {
      const before = runners.get(userId);
      await before?.runner.stop();
      signal.throwIfAborted();
      const known = [...(before?.keys ?? []), ...more];
      const runner = accountRunner(context, userId, known, () => bell.ring(), onBegun);
      runners.set(userId, { runner, keys: known });
      await runner.start();
    });

  const find = async (key: Secret, signal: AbortSignal): Promise<void> => {
    const name = hashOfKey(key).slice(0, 8);
    const logged = new Set<string>();
    let refusals = 0;
    let failures = 0;
    for (;;) {
      try {
        const userId = await askOwner(context, key, signal);
        unknown.delete(name);
        strangers = (strangers ?? 1) - 1;
        log.info(`API key ${name}… belongs to account ${userId}`);
        await run(userId, [key], signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const refused = error instanceof KeyRefused;
        const waitMs = refused ? refusedKeyWait(refusals++) : Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** failures++);
        const message = messageOf(error);
        unknown.set(name, message);
        const remedy = refused ? '. Set a working key in MIRROR_API_KEY' : '';
        const isLogged = logged.has(message) || error instanceof ServiceDown || isDatabaseDown(error);
        logged.add(message);
        log[isLogged ? 'debug' : refused ? 'error' : 'warn'](
          `API key ${name}…: ${message}. Retrying in ${waitMs / 1000} s${remedy}`,
        );
        await link.clock.sleep(waitMs, signal);
      }
    }
  };

  const store = createFleetStore(context.urgentDb, context.processId, context.identity);
  const sharing = shareKeeper(context, log, context.failures, store, all, bell);

  const body = service('accounts', async ({ signal, ready }) => {
    try {
      const { byOwner, unknown: toAsk } = await sortKeys(context.db, keys);
      strangers = toAsk.length;
      await sharing.start();
      for (const [userId, known] of byOwner) await run(userId, known, signal);
      ready();
      const finding = toAsk.map((key) => find(key, signal));
      // They end before the runners are stopped, so that no runner is started after that.
      await Promise.allSettled(finding);
      await Promise.all(finding);
      await untilAborted(signal);
    } finally {
      await Promise.all([sharing.stop(), ...all().map((runner) => runner.stop())]);
    }
  });
  return {
    ...body,
    runners: all,
    /** Keys without a known owner, by short hash, with the reason. */
    unknownKeys: (): ReadonlyMap<string, string> => unknown,
    /** Whether the owner of every key is known, so that there are no other accounts. */
    allKnown: () => strangers === 0,
    /** Checks at once which accounts to take or give up, after news from another process. */
    lookAround: () => bell.ring(),
  };
}

export type AccountRunner = ReturnType<typeof accountRunner>;

/** First and longest delay before a failed account is reopened, ms. It doubles, since others may own it meanwhile. */
const BROKEN_MS = 5_000;
const LONGEST_BROKEN_MS = 60_000;
/** An account that ran this long before it failed is reopened after the first delay, ms. */
const LASTING_MS = 60_000;

/**
 * An account in the daemon: it waits for its turn, is taken, runs while this process owns it, and waits again.
 * @param onStanding called if the sharing has to look at the account
 * @param onBegun called once it is read: work that was due before has to be started
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

  const runOnce = async (signal: AbortSignal): Promise<void> => {
    const over = new AbortController();
    /** Waits for the account's turn and takes it; another process may have been faster. */
    const take = async (): Promise<Fence> => {
      for (;;) {
        stand('waits');
        await turn.heard(signal);
        stand('busy');
        const fence = await takeFor(context, userId).catch(unlessTaken);
        if (fence === undefined) continue;
        isEnded = false;
        return fence;
      }
    };
    const run = async (account: Account): Promise<void> => {
      const { service: running, source, store } = account;
      const stopped = async (error: unknown): Promise<never> => {
        if (refusesKey(error)) await store.saveState('stopped', messageOf(error));
        throw error;
      };
      const ping = { signal: new AbortController().signal, stop: signal };
      if (refusals > 0) await source.ping(ping).catch(stopped);
      refusals = 0;
      // A refused key may have been replaced; the first answers tell.
      await store.saveState('active', null);
      await store.correctRuns(context.config.collections, context.schedule.of(userId));
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
    try {
      await withAccount(context, { userId, keys, signal, take, end, beforeClose }, run);
    } catch (error) {
      if (!(error instanceof AccountUnservable)) throw error;
      const why = messageOf(error);
      stand('unable');
      log.error(`account ${userId} is not mirrored: ${why}`);
      const store = (fence: Fence) => createAccountStore(context.db, fence).saveState('stopped', why);
      // Not stored if another process owns the account: it may have a usable key.
      await withLease(context, userId, store).catch(unlessTaken);
      await untilAborted(signal);
    }
  };

  /** @returns the delay before the account is reopened, ms */
  const afterFailure = (error: unknown): number => {
    context.failures.noted(error);
    const line = `account ${userId}: ${messageOf(error)}`;
    if (refusesKey(error)) {
      stand('unable');
      const waitMs = refusedKeyWait(refusals);
      refusals += 1;
      log.warn(`${line}. Retrying in ${waitMs / 1000} s, unless another daemon has a working key`);
      return waitMs;
    }
    if (error instanceof AccountMoved)
      log.error(`account ${userId} has stopped, and its data stays: ${messageOf(error)}`);
    // A retired account and a database that is down are logged elsewhere.
    else if (error instanceof AccountRetired || isDatabaseDown(error)) log.debug(line);
    else if (error instanceof LeaseLost) log.warn(line);
    else log.error({ err: error }, line);
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

/** @throws the error, unless the account is retired or another process owns it */
function unlessTaken(error: unknown): undefined {
  if (!(error instanceof AccountRetired || error instanceof AccountHeld)) throw error;
}
