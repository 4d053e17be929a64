import type { Db } from '../../db/connection/db.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { Secret } from '../../config/secret.ts';
import { isDatabaseDown } from '../../db/connection/sql-state.ts';
import { createBudgetStore } from '../../db/budget/budget-store.ts';
import { releaseAccount } from '../../db/ownership/lease.ts';
import { mendMoments, recheckIfDue } from '../../db/accounts/recheck.ts';
import type { TableChange } from '../../db/notify/notifications.ts';
import { openHistory } from '../../mirror/history/coverage.ts';
import { createMirror } from '../../mirror/create-mirror.ts';
import { LeaseLost } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import type { Heartbeat } from '../../db/ownership/heartbeat.ts';
import type { ProcessIdentity } from '../../db/ownership/process-identity.ts';
import type { SubmitterOptions } from '../../submit/submitter.ts';
import type { RegistrarOptions } from '../../webhooks/registration/registrar.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { KeyStore } from '@research-mirror/runtime/kept-keys';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { AccountReader } from '../../sync/account/account-reader.ts';
import { AccountSource } from '../../sync/reader/account-source.ts';
import { createAccountStore } from '../../sync/reader/account-store.ts';
import { Ownership } from '../../sync/ownership/ownership.ts';
import { createOwnershipStore } from '../../sync/ownership/ownership-store.ts';
import { observeAll, type SyncObserver } from '../../sync/reader/observer.ts';
import type { ReadingStarts } from '../../sync/loops/reading-starts.ts';
import type { FailureLog } from '../failure-log.ts';
import type { Schedule } from '../../schedule/next-runs.ts';
import type { OwnedAccounts } from '../../db/ownership/owned-accounts.ts';
import { hashOfKey } from './servable-keys.ts';
import { linkKey, type ServiceLink } from './service-link.ts';

export interface AccountContext {
  readonly config: ServiceConfig;
  readonly db: Db;
  /** The same, past the line: accounts are taken and released by it, since others wait for that. */
  readonly urgentDb: Db;
  readonly link: ServiceLink;
  /** Read at each event: a command adds one while it works. */
  readonly observers: SyncObserver[];
  readonly onChanged: (change: TableChange) => void;
  readonly log: Logger;
  readonly schedule: Schedule;
  readonly owned: OwnedAccounts;
  /** Where long walks remember what they saw. */
  readonly keys: KeyStore;
  /** An account was released: resolves when other daemons are told. Never throws. */
  readonly onReleased: () => Promise<void>;
  /** For what is stored: `now` is the database's time, whatever this machine's clock says. */
  readonly clock: Clock;
}

/** What a process gives to the accounts that it runs. */
export interface RunnerContext
  extends AccountContext, Pick<Heartbeat, 'ownsUntil' | 'interruptedAt' | 'hasOthers'> {
  readonly processId: string;
  readonly failures: FailureLog;
  readonly identity: ProcessIdentity;
  /** Accounts are opened, and readings begun, a few at a time. */
  readonly starts: ReadingStarts;
  /** Takes a secret that was learnt while running: no output shows it then. */
  readonly hide: (secret: string) => void;
  readonly onSubmission: SubmitterOptions['onDone'];
  readonly onRegistered: RegistrarOptions['onRegistered'];
  readonly whyAstray: RegistrarOptions['whyAstray'];
}

/** An account that this process owns, ready to be read. */
export type OpenAccount = Awaited<ReturnType<typeof openAccount>>;

/** Makes ready what reads an account that this process has taken. Where that fails, the account stays taken. */
export async function openAccount(context: AccountContext, fence: Fence, keys: readonly Secret[]) {
  const { config, db, link } = context;
  if (await recheckIfDue(db, fence, config.collections, keys.map(hashOfKey))) {
    context.log.warn(`account ${fence.userId}: the database went back: everything is read again`);
  }
  await mendMoments(db, fence);
  const budgetStore = createBudgetStore(db, fence);
  const all = await Promise.all(keys.map((key) => linkKey(link, key, budgetStore)));
  const store = createAccountStore(db, fence);
  const ownership = new Ownership({
    userId: fence.userId,
    store: createOwnershipStore({ db, fence, origin: config.service.url }),
    clock: link.clock,
  });
  const source = new AccountSource(all, ownership);
  await openHistory(db, fence, config.collections, config.history.kept);
  const mirror = createMirror(db, {
    ...config,
    history: config.history.kept,
    clock: context.clock,
  });
  const reader = new AccountReader(
    {
      fence,
      source,
      mirror,
      store,
      observer: observeAll(context.observers),
      onChanged: context.onChanged,
      clock: context.clock,
      keys: context.keys,
      gracePeriodMs: config.gracePeriodMs,
    },
    context.schedule.of(fence.userId),
  );
  return {
    fence,
    source,
    store,
    clock: context.clock,
    keys: context.keys,
    mirror,
    reader,
    /** Stores what the budgets learnt, and releases the account; may be called after the lease was lost, too. */
    close: async (): Promise<void> => {
      for (const { budget } of all) budget.close(new Error('the account is closed'));
      const flushed = await Promise.allSettled(all.map(({ budget }) => budget.flush()));
      const released = await Promise.allSettled([releaseAccount(context.urgentDb, fence)]);
      context.owned.remove(fence);
      await context.onReleased();
      for (const each of [...flushed, ...released]) {
        // The lease may be lost or the database away: then there is nothing to store or to give up.
        if (each.status === 'rejected') {
          const isExpected = each.reason instanceof LeaseLost || isDatabaseDown(each.reason);
          context.log[isExpected ? 'debug' : 'warn'](
            `account ${fence.userId}: not closed cleanly: ${messageOf(each.reason)}`,
          );
        }
      }
    },
  };
}
