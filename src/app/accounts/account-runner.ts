import type { Secret } from '../../config/secret.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { ensureAccount, type Holder, releaseAccount, takeAccount } from '../../db/ownership/lease.ts';
import { pruneEvents } from '../../db/events/prune-events.ts';
import { pruneSubmissions } from '../../db/submissions/stored-submissions.ts';
import { pruneHistory } from '../../mirror/history/retention.ts';
import { pruneLog } from '../../mirror/scope/prune-log.ts';
import { AccountMoved, AccountRetired, LeaseLost } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { type Service, service } from '@research-mirror/runtime/service';
import { accountService, type AccountService } from '../../sync/account/account-service.ts';
import { createAccountStore } from '../../sync/reader/account-store.ts';
import { accountCompanions, type AccountCompanions } from './account-companions.ts';
import { notingRecovery } from './note-recovery.ts';
import { openAccount, type OpenAccount } from './open-account.ts';
import { correctRuns } from './scheduled-runs.ts';
import type { RunnerContext } from './runner-context.ts';
import { servableKeys } from './servable-keys.ts';

/** An account that runs. */
export interface RunningAccount {
  readonly account: OpenAccount;
  readonly service: AccountService;
  readonly bells: AccountCompanions['bells'];
}

/** An account as the daemon keeps it: taken when it is free, run while it is ours, taken again. */
export interface AccountRunner extends Service {
  readonly userId: string;
  /** What runs now; undefined while the account is another process's. */
  current(): RunningAccount | undefined;
}

/** Waits (ms) before a held account is looked at again, and before a failed one is opened again. */
const OWNED_ELSEWHERE_MS = 2_000;
const BROKEN_MS = 5_000;

export function accountRunner(parts: RunnerContext, userId: string, keys: readonly Secret[]): AccountRunner {
  const { log, link } = parts;
  let current: ReturnType<AccountRunner['current']>;

  const runOnce = async (signal: AbortSignal): Promise<void> => {
    await ensureAccount(parts.db, userId, await databaseTime(parts.db));
    const servable = await servableKeys(parts, userId, keys);
    if ('why' in servable) return standStill(parts, userId, servable.why, signal);
    const fence = await take(parts, userId, signal);
    const account = await openAccount(parts, fence, servable.keys);
    const over = new AbortController();
    const run = async (): Promise<void> => {
      // What was refused before may be another key: the first answers tell anew.
      await account.store.saveState('active', null);
      await correctRuns(parts.db, parts.config.collections, parts.schedule, account.store, userId);
      const background = accountCompanions(parts, account);
      const running = serviceOf(parts, account, background);
      current = { account, service: running, bells: background.bells };
      const stop = (): void => void running.stop();
      signal.addEventListener('abort', stop, { signal: over.signal });
      if (signal.aborted) return;
      await running.start();
      const error = await running.ended;
      if (error !== undefined) throw error;
    };
    try {
      await notingRecovery(parts, fence, signal, run);
    } finally {
      over.abort();
      current = undefined;
      await account.close();
    }
  };

  const body = service(`account ${userId}`, async ({ signal, ready }) => {
    ready();
    for (;;) {
      try {
        await runOnce(signal);
        signal.throwIfAborted();
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof AccountMoved)
          log.error(`account ${userId} has stopped: ${messageOf(error)}; its data stays`);
        else if (error instanceof LeaseLost) log.warn(`account ${userId}: ${messageOf(error)}`);
        else log.error({ err: error }, `account ${userId}: ${messageOf(error)}`);
        await link.clock.sleep(BROKEN_MS, signal);
      }
    }
  });
  return { ...body, userId, current: () => current };
}

/** Waits until nobody else holds the account. */
async function take(parts: RunnerContext, userId: string, signal: AbortSignal): Promise<Fence> {
  const { log, link } = parts;
  let told = '';
  for (;;) {
    const found = await lookAt(parts, userId);
    if ('fence' in found) return found.fence;
    if (told !== found.why) log.info(found.why);
    told = found.why;
    await link.clock.sleep(OWNED_ELSEWHERE_MS, signal);
  }
}

/** Takes the account, or says why that can't be. */
async function lookAt(
  { db, processId, identity }: RunnerContext,
  userId: string,
): Promise<{ readonly fence: Fence } | { readonly why: string }> {
  try {
    const taken = await takeAccount(db, userId, processId, identity);
    return taken.state === 'taken' ? taken : { why: ownedBy(userId, taken.by) };
  } catch (error) {
    if (!(error instanceof AccountRetired)) throw error;
    return { why: `${error.message}; MIRROR_API_KEY has a key of it, which is not used` };
  }
}

/** Does nothing for an account that is not to be asked for, until the signal aborts; the account says why. */
async function standStill(
  parts: RunnerContext,
  userId: string,
  why: string,
  signal: AbortSignal,
): Promise<never> {
  const { db, log } = parts;
  log.error(`account ${userId} is not mirrored: ${why}`);
  const found = await lookAt(parts, userId);
  // Another process may have what this one lacks.
  if ('fence' in found) {
    await createAccountStore(db, found.fence).saveState('stopped', why);
    await releaseAccount(db, found.fence);
  }
  const aborted = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => aborted.reject(signal.reason as Error), { once: true });
  signal.throwIfAborted();
  return aborted.promise;
}

export function ownedBy(userId: string, { command, pid, here }: Holder): string {
  const where = here ? `process ${pid}` : `process ${pid} on another machine`;
  return `account ${userId} is held by "research-mirror ${command}" (${where})`;
}

function serviceOf(
  parts: RunnerContext,
  { fence, reader, source, store, mirror }: OpenAccount,
  { loops }: AccountCompanions,
): AccountService {
  const { config, db, log, link } = parts;
  const { userId } = fence;
  let prunedAt = Number.NEGATIVE_INFINITY;
  return accountService({
    reader,
    collections: config.collections,
    companions: loops,
    clock: link.clock,
    random: link.random,
    ping: (stop) => source.ping({ signal: new AbortController().signal, stop }),
    tidy: async (signal) => {
      while (!signal.aborted && (await mirror.backfill(fence)));
      for (const { budget } of source.keys) await budget.flush();
      if (link.clock.monotonic() - prunedAt < PRUNE_MS) return;
      prunedAt = link.clock.monotonic();
      await pruneLog(db, fence, config.retention.logMs, signal);
      await pruneSubmissions(db, fence, config.retention.logMs, signal);
      await pruneEvents(db, fence, config.retention.eventsMs, signal);
      const { history } = config;
      if (history.kept && history.forMs !== undefined) {
        await pruneHistory(db, fence, history.forMs, signal);
      }
    },
    onState: async (state, reason) => {
      const message = reason === undefined ? undefined : messageOf(reason);
      if (message === undefined) log.info(`account ${userId}: goes on`);
      else log.error(`account ${userId} has stopped: ${message}; its data stays. Set a good MIRROR_API_KEY`);
      await store.saveState(state, message ?? null);
    },
    onFailure: (what, error) => log.warn({ err: error }, `account ${userId}: ${what}: ${messageOf(error)}`),
  });
}

/** How often (ms) rows that are kept for a time only are looked for. */
const PRUNE_MS = 3_600_000;
