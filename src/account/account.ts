import { quote, serviceMessage } from '../service/refusal.ts';
import { TRANSPORT_LIMITS } from '../service/transport.ts';
import { PRIORITY, READS } from '../service/rate-groups.ts';
import type { ServiceConfig } from '../config/config.ts';
import { hashOfKey, type Secret } from '../config/secret.ts';
import { mendMoments, recheckIfDue } from '../sync/recheck.ts';
import { createBudgetStore } from '../service/budget-store.ts';
import type { Db } from '../postgres/db.ts';
import { isDatabaseDown } from '../postgres/sql-state.ts';
import { pruneEvents } from '../events/event-store.ts';
import { forgetOtherHints } from '../mirror/hint-store.ts';
import type { TableChange } from '../postgres/notifications.ts';
import type { Heartbeat, ProcessIdentity } from '../postgres/heartbeat.ts';
import { type OwnedAccounts, releaseAccount } from '../postgres/lease.ts';
import { createSubmissionStore } from '../submissions/submission-store.ts';
import { explainWait, pruneSubmissions, whyCreditsTooLow } from '../submissions/stored-submissions.ts';
import { webhookStore } from '../events/webhook-store.ts';
import { followColumns } from '../mirror/table-columns.ts';
import { Mirror } from '../mirror/mirror.ts';
import { openHistory, pruneHistory } from '../mirror/history.ts';
import { pruneLog } from '../mirror/sync-log.ts';
import { LeaseLost, TransportError } from '../model/errors.ts';
import type { Fence } from '../postgres/fenced.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { formatSpan } from '@research-mirror/runtime/figures';
import type { KeyStore } from '@research-mirror/runtime/kept-keys';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { submitter, type SubmitterOptions } from '../submissions/submitter.ts';
import { AccountReader } from '../sync/account-reader.ts';
import { createHintStore } from '../sync/hints.ts';
import { HintDispatcher } from './hint-dispatcher.ts';
import { accountService, type AccountService, type Companion } from './account-service.ts';
import type { ReadingStarts } from './loops.ts';
import { AccountSource } from '../sync/account-source.ts';
import { type AccountStore, createAccountStore, createOwnershipStore } from '../sync/account-store.ts';
import { observeAll, type ReadingContext, type SyncObserver } from '../sync/reading-context.ts';
import type { ServiceAnswer, WebhookRequest } from '../events/service-calls.ts';
import { registrar, type RegistrarOptions } from '../events/registrar.ts';
import type { FailureLog } from './failure-log.ts';
import type { Schedule } from '../sync/schedule.ts';
import { linkKey, type ServiceLink } from './account-keys.ts';

/** What the accounts of a process share. */
export interface ProcessContext extends Pick<Heartbeat, 'ownsUntil' | 'interruptedAt' | 'hasOthers'> {
  readonly config: ServiceConfig;
  readonly db: Db;
  /** The same connections, bypassing their queue: for taking and releasing accounts, which others wait for. */
  readonly urgentDb: Db;
  readonly link: ServiceLink;
  readonly processId: string;
  readonly identity: ProcessIdentity;
  /** Read at each event: a command adds one while it runs. */
  readonly observers: SyncObserver[];
  readonly log: Logger;
  readonly failures: FailureLog;
  readonly schedule: Schedule;
  readonly owned: OwnedAccounts;
  /** Memory of long walks for the keys that they saw. */
  readonly keys: KeyStore;
  /** Limits how many accounts are opened and readings begun at a time. */
  readonly starts: ReadingStarts;
  /** `now` is the database's time, not this machine's. */
  readonly clock: Clock;
  readonly onChanged: (change: TableChange) => void;
  /** Called after an account was released; resolves once other daemons are told. Never throws. */
  readonly onReleased: () => Promise<void>;
  /** Keeps a secret that was learnt at run time out of all output. */
  readonly hide: (secret: string) => void;
  readonly onSubmission: SubmitterOptions['onDone'];
  readonly onRegistered: RegistrarOptions['onRegistered'];
  readonly whyAstray: RegistrarOptions['whyAstray'];
}

/** Retry interval for columns that fields wait for while their table is locked, ms. */
const FILL_MS = 60_000;
/** Least lead of the database's clock, ms, with which nothing is pruned: what is to be kept may look old. */
const CLOCK_AHEAD_MS = 3_600_000;
/** Interval of pings that prove what readings found complete, ms. The next reading's proof may be an hour away. */
const PROVE_MS = 30_000;
/** Pruning interval, ms. */
const PRUNE_MS = 3_600_000;

/**
 * An account that this process owns: its reading, writing, submissions and webhook. A command uses the parts; a daemon
 * starts `service`, which runs all of them.
 */
export class Account {
  readonly fence: Fence;
  readonly source: AccountSource;
  readonly store: AccountStore;
  readonly mirror: Mirror;
  /** Context of all its readings. */
  readonly reading: ReadingContext;
  readonly reader: AccountReader;
  /** Each rings if there is work; `filling` is handled when the account is tidied. */
  readonly bells: Readonly<Record<'hints' | 'submissions' | 'filling', Doorbell>>;
  readonly service: AccountService;
  readonly #context: ProcessContext;
  #provenAt = Number.NEGATIVE_INFINITY;
  #prunedAt = Number.NEGATIVE_INFINITY;
  #filledAt = Number.NEGATIVE_INFINITY;

  /** Opens an account that this process has taken. After a failure the account stays taken. */
  static async open(context: ProcessContext, fence: Fence, keys: readonly Secret[]): Promise<Account> {
    const { config, db, link } = context;
    if (await recheckIfDue(db, fence, config.collections, keys.map(hashOfKey))) {
      context.log.warn(`account ${fence.userId}: the database went back: everything is read again`);
    }
    await mendMoments(db, fence);
    const budgetStore = createBudgetStore(db, fence);
    const linked = await Promise.all(keys.map((key) => linkKey(link, key, budgetStore)));
    const ownership = createOwnershipStore(db, fence, config.service.url);
    await openHistory(db, fence, config.collections, config.history.kept);
    return new Account(context, fence, new AccountSource(fence.userId, linked, ownership, context.clock));
  }

  private constructor(context: ProcessContext, fence: Fence, source: AccountSource) {
    const { config, db, link, clock, keys } = context;
    this.#context = context;
    this.fence = fence;
    this.source = source;
    this.store = createAccountStore(db, fence);
    this.mirror = new Mirror(db, { ...config, history: config.history.kept, clock });
    this.reading = {
      fence,
      source,
      mirror: this.mirror,
      store: this.store,
      observer: observeAll(context.observers),
      onChanged: context.onChanged,
      clock,
      keys,
      gracePeriodMs: config.gracePeriodMs,
    };
    this.reader = new AccountReader(this.reading, context.schedule.of(fence.userId));
    const hints = new HintDispatcher({
      reader: this.reader,
      store: createHintStore(db, fence),
      collections: config.collections,
      perMinute: () => source.sizeOf(READS),
      gracePeriodMs: config.gracePeriodMs,
      onFailure: (what, error) => this.#failed(what, error),
      clock: link.clock,
      random: link.random,
    });
    this.bells = {
      hints: hints.bell,
      submissions: new Doorbell(),
      filling: new Doorbell(),
    };
    this.service = accountService({
      reader: this.reader,
      collections: config.collections,
      companions: [
        (signal, follow) => hints.run(signal, follow),
        this.submitLoop(this.bells.submissions),
        this.#keepWebhook(),
      ],
      starts: context.starts,
      hasOthers: () => context.hasOthers(),
      clock: link.clock,
      random: link.random,
      ping: (stop) => source.ping({ signal: new AbortController().signal, stop }),
      tidy: (signal) => this.#tidy(signal),
      onState: (state, reason) => this.#saveState(state, reason),
      onFailure: (what, error) => this.#failed(what, error),
    });
  }

  /** Stores what the budgets learnt and releases the account; may be called after the lease was lost. */
  async close(): Promise<void> {
    const { log, owned, urgentDb, onReleased } = this.#context;
    const budgets = this.source.keys.map(({ budget }) => budget);
    for (const budget of budgets) budget.close(new Error('the account is closed'));
    const flushed = await Promise.allSettled(budgets.map((budget) => budget.flush()));
    const released = await Promise.allSettled([releaseAccount(urgentDb, this.fence)]);
    owned.remove(this.fence);
    await onReleased();
    for (const each of [...flushed, ...released]) {
      // If the lease is lost or the database is away, there is nothing to store or release.
      if (each.status === 'rejected') {
        const isExpected = each.reason instanceof LeaseLost || isDatabaseDown(each.reason);
        log[isExpected ? 'debug' : 'warn'](
          `account ${this.fence.userId}: not closed cleanly: ${messageOf(each.reason)}`,
        );
      }
    }
  }

  /**
   * Sends the account's queued submissions until the signal aborts.
   * @param only this one; left out: all
   */
  submitLoop(bell: Doorbell, only?: string): (signal: AbortSignal) => Promise<never> {
    const { config, db, link, log, ownsUntil, onSubmission } = this.#context;
    const { fence } = this;
    const { creditsFloor: floor, enabled } = config.submit;
    return submitter({
      source: this.source,
      store: createSubmissionStore({
        db,
        fence,
        collections: new Set(config.collections),
        only,
        ...(link.privacy && { privacy: link.privacy }),
      }),
      clock: link.clock,
      whyCreditsTooLow: async () =>
        floor === undefined ? undefined : whyCreditsTooLow(db, fence.userId, floor),
      explainWait: (why) => explainWait(db, fence, why),
      ownsUntil,
      bell,
      enabled,
      timeoutMs: TRANSPORT_LIMITS.totalMs,
      log,
      onDone: onSubmission,
    });
  }

  #keepWebhook(): Companion {
    const { config, db, link, log, hide, onChanged, onRegistered, whyAstray } = this.#context;
    const { publicUrl, takeover } = config.webhook;
    return registrar({
      userId: this.fence.userId,
      publicUrl,
      takeover,
      service: (request) =>
        askAboutWebhook(this.source, request, link.privacy?.isOn === true ? () => '' : link.scrub),
      store: webhookStore(db, this.fence, onChanged),
      clock: link.clock,
      log,
      hide,
      whyAstray,
      onRegistered,
    });
  }

  async #tidy(signal: AbortSignal): Promise<void> {
    const { config, db, log, link, clock } = this.#context;
    const { fence, bells } = this;
    // Accounts with columns to fill are found by one look for all (work-finder.ts).
    if (bells.filling.rung || link.clock.monotonic() - this.#filledAt >= FILL_MS) {
      this.#filledAt = link.clock.monotonic();
      while (!signal.aborted && (await this.mirror.backfill(fence)));
      if (bells.filling.rung) await bells.filling.heard(signal);
    }
    for (const { budget } of this.source.keys) await budget.flush();
    if (this.source.hasClaims && link.clock.monotonic() - this.#provenAt >= PROVE_MS) {
      this.#provenAt = link.clock.monotonic();
      await this.reader.proveComplete(signal);
    }
    if (link.clock.monotonic() - this.#prunedAt < PRUNE_MS) return;
    this.#prunedAt = link.clock.monotonic();
    await followColumns(db);
    await forgetOtherHints(db, fence, config.collections);
    const aheadMs = clock.now() - link.clock.now();
    if (aheadMs > CLOCK_AHEAD_MS) {
      log.warn(
        `account ${fence.userId}: nothing is removed for its age: the database’s clock is ${formatSpan(aheadMs)} ahead of this machine’s; set the one that is wrong`,
      );
      return;
    }
    await pruneLog(db, fence, config.retention.logMs, signal);
    await pruneSubmissions(db, fence, config.retention.logMs, signal);
    await pruneEvents(db, fence, config.retention.eventsMs, signal);
    const { history } = config;
    if (history.kept && history.forMs !== undefined) await pruneHistory(db, fence, history.forMs, signal);
  }

  async #saveState(state: 'active' | 'stopped', reason: Error | undefined): Promise<void> {
    const { log } = this.#context;
    const message = reason === undefined ? undefined : messageOf(reason);
    if (message === undefined) log.info(`account ${this.fence.userId}: goes on`);
    else
      log.error(
        `account ${this.fence.userId} has stopped: ${message}; its data stays, and it goes on by itself as soon as a key is good. Set a good MIRROR_API_KEY`,
      );
    await this.store.saveState(state, message ?? null);
  }

  #failed(what: string, error: Error): void {
    const { userId } = this.fence;
    this.#context.failures.failed(`${userId}: ${what}`, `account ${userId}: ${what}`, error);
  }
}

/**
 * One request about the webhook. 401 and 403 may concern only this endpoint: then they are the answer.
 * @throws TransportError if they concern the key
 */
export async function askAboutWebhook(
  source: Pick<AccountSource, 'once' | 'isGood'>,
  request: WebhookRequest,
  scrub: (text: string) => string,
): Promise<ServiceAnswer | undefined> {
  // A request on the wire is never aborted.
  const asked = { ...request, path: request.route, signal: new AbortController().signal };
  // Nothing waits for it. With a high priority it would take slots from a first load before any event comes.
  const answer = await source.once({ ...asked, priority: PRIORITY.POLL });
  if (answer === undefined) return undefined;
  const { status, text } = answer;
  if ((status === 401 || status === 403) && !(await source.isGood(answer.keyHash, asked))) {
    throw new TransportError('the API key is refused', { sent: false });
  }
  // The answer to a registration holds its secret.
  return { status, text, words: status < 300 ? '' : quote(serviceMessage(text), scrub) };
}
