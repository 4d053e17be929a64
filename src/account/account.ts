/** Puts one owned account together: what its parts are given, and in which order they stop. The parts decide. */

import { Doorbell } from '@research-mirror/runtime/doorbell';
import { formatSpan } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { hashOfKey, type Secret } from '../config/secret.ts';
import { pruneEvents } from '../events/event-store.ts';
import { registrar } from '../events/registrar.ts';
import type { ServiceAnswer, WebhookRequest } from '../events/service-calls.ts';
import { webhookStore } from '../events/webhook-store.ts';
import { forgetOtherHints } from '../mirror/hint-store.ts';
import { openHistory, pruneHistory } from '../mirror/history.ts';
import { Mirror } from '../mirror/mirror.ts';
import { pruneLog } from '../mirror/sync-log.ts';
import { refreshDependents } from '../mirror/table-columns.ts';
import { LeaseLost, TransportError } from '../model/errors.ts';
import type { Fence } from '../postgres/fenced.ts';
import { releaseAccount } from '../postgres/lease.ts';
import { isDatabaseDown } from '../postgres/sql-state.ts';
import { createBudgetStore } from '../service/budget-store.ts';
import { PRIORITY, READS } from '../service/rate-groups.ts';
import { quote, serviceMessage } from '../service/envelope.ts';
import { TRANSPORT_LIMITS } from '../service/transport.ts';
import { explainWait, pruneSubmissions, whyCreditsTooLow } from '../submissions/stored-submissions.ts';
import { createSubmissionStore } from '../submissions/submission-store.ts';
import { submitter } from '../submissions/submitter.ts';
import { AccountReader } from '../sync/account-reader.ts';
import { AccountSource } from '../sync/account-source.ts';
import { createAccountStore, createOwnershipStore } from '../sync/account-store.ts';
import { createHintStore } from '../sync/hints.ts';
import { observeAll, type ReadingContext } from '../sync/reading-context.ts';
import { mendMoments, recheckIfDue } from '../sync/recheck.ts';
import { linkKey } from './account-keys.ts';
import { accountService } from './account-service.ts';
import { hintDispatcher } from './hint-dispatcher.ts';
import type { ProcessContext } from './process.ts';

/** Retry interval for new columns while their table is locked, ms. */
const FILL_MS = 60_000;
/** Lead of the database's clock from which nothing is pruned, ms: young rows may look old. */
const CLOCK_AHEAD_MS = 3_600_000;
/** Interval of pings that prove readings complete, ms. The next reading's proof may be an hour away. */
const PROVE_MS = 30_000;
/** Pruning interval, ms. */
const PRUNE_MS = 3_600_000;

export type Account = Awaited<ReturnType<typeof openAccount>>;

/**
 * Opens an account that this process has taken; after a failure it stays taken. A command uses its parts; a daemon
 * starts `service`, which runs all of them.
 */
export async function openAccount(context: ProcessContext, fence: Fence, keys: readonly Secret[]) {
  const { config, db, log, link, clock } = context;
  const { collections, gracePeriodMs, history, retention } = config;
  const { userId } = fence;
  const schedule = context.schedule.of(userId);
  if (await recheckIfDue(db, fence, collections, keys.map(hashOfKey))) {
    log.warn(`account ${userId}: the database went back: everything is read again`);
  }
  await mendMoments(db, fence);
  const budgetStore = createBudgetStore(db, fence);
  const linked = await Promise.all(keys.map((key) => linkKey(link, key, budgetStore)));
  const ownership = createOwnershipStore(db, fence, config.service.url);
  await openHistory(db, fence, collections, history.kept);

  const source = new AccountSource(userId, linked, ownership, context.clock);
  const store = createAccountStore(db, fence);
  const mirror = new Mirror(db, { ...config, history: history.kept, clock });
  /** Context of all its readings. */
  const reading: ReadingContext = {
    fence,
    source,
    mirror,
    store,
    observer: observeAll(context.observers),
    onChanged: context.onChanged,
    clock,
    keys: context.keys,
    gracePeriodMs,
  };
  const reader = new AccountReader(reading, schedule);
  const onFailure = (what: string, error: Error): void =>
    context.failures.failed(`${userId}: ${what}`, `account ${userId}: ${what}`, error);
  const hints = hintDispatcher({
    reader,
    store: createHintStore(db, fence),
    collections,
    perMinute: () => source.sizeOf(READS),
    gracePeriodMs,
    onFailure,
    clock: link.clock,
    random: link.random,
  });
  /** Each rings if there is work; `filling` is handled by tidying. */
  const bells = { hints: hints.bell, submissions: new Doorbell(), filling: new Doorbell() };

  /**
   * Sends the account's queued submissions until the signal aborts.
   * @param only this one; left out: all
   */
  const submitLoop = (bell: Doorbell, only?: string): ((signal: AbortSignal) => Promise<never>) => {
    const { creditsFloor: floor, enabled } = config.submit;
    const privacy = link.privacy && { privacy: link.privacy };
    const mirrored = new Set(collections);
    return submitter({
      source,
      store: createSubmissionStore({ db, fence, collections: mirrored, only, ...privacy }),
      clock: link.clock,
      whyCreditsTooLow: async () => (floor === undefined ? undefined : whyCreditsTooLow(db, userId, floor)),
      explainWait: (why) => explainWait(db, fence, why),
      ownsUntil: context.ownsUntil,
      bell,
      enabled,
      timeoutMs: TRANSPORT_LIMITS.totalMs,
      log,
      onDone: context.onSubmission,
    });
  };

  const { publicUrl, takeover } = config.webhook;
  const scrub = link.privacy?.isOn === true ? () => '' : link.scrub;
  const keepWebhook = registrar({
    ...context,
    userId,
    publicUrl,
    takeover,
    service: (request) => askAboutWebhook(source, request, scrub),
    store: webhookStore(db, fence, context.onChanged),
    clock: link.clock,
  });

  let [provenAt, prunedAt, filledAt] = [-Infinity, -Infinity, -Infinity];
  const tidy = async (signal: AbortSignal): Promise<void> => {
    // One look finds the accounts that have columns to fill (work-finder.ts).
    if (bells.filling.rung || link.clock.monotonic() - filledAt >= FILL_MS) {
      filledAt = link.clock.monotonic();
      while (!signal.aborted && (await mirror.backfill(fence)));
      if (bells.filling.rung) await bells.filling.heard(signal);
    }
    for (const { budget } of source.keys) await budget.flush();
    if (source.hasClaims && link.clock.monotonic() - provenAt >= PROVE_MS) {
      provenAt = link.clock.monotonic();
      await reader.proveComplete(signal);
    }
    if (link.clock.monotonic() - prunedAt < PRUNE_MS) return;
    prunedAt = link.clock.monotonic();
    await refreshDependents(db);
    await forgetOtherHints(db, fence, collections);
    const aheadMs = clock.now() - link.clock.now();
    if (aheadMs > CLOCK_AHEAD_MS) {
      log.warn(
        `account ${userId}: old data is not removed: the database’s clock is ${formatSpan(aheadMs)} ahead of this machine’s. Correct the wrong clock`,
      );
      return;
    }
    await pruneLog(db, fence, retention.logMs, signal);
    await pruneSubmissions(db, fence, retention.logMs, signal);
    await pruneEvents(db, fence, retention.eventsMs, signal);
    if (history.kept && history.forMs !== undefined) await pruneHistory(db, fence, history.forMs, signal);
  };

  const service = accountService({
    reader,
    collections,
    companions: [hints.run, submitLoop(bells.submissions), keepWebhook],
    starts: context.starts,
    hasOthers: context.hasOthers,
    clock: link.clock,
    random: link.random,
    ping: (stop) => source.ping({ signal: new AbortController().signal, stop }),
    tidy,
    onState: async (state, reason) => {
      const message = reason === undefined ? null : messageOf(reason);
      if (message === null) log.info(`account ${userId} continues`);
      else
        log.error(
          `account ${userId} has stopped: ${message}. Its data stays, and it continues by itself once a key works. Set a working key in MIRROR_API_KEY`,
        );
      await store.saveState(state, message);
    },
    onFailure,
  });

  /** Stores what the budgets learnt and releases the account; may be called after the lease was lost. */
  const close = async (): Promise<void> => {
    const budgets = source.keys.map(({ budget }) => budget);
    for (const budget of budgets) budget.close(new Error('the account is closed'));
    const flushed = await Promise.allSettled(budgets.map((budget) => budget.flush()));
    const released = await Promise.allSettled([releaseAccount(context.urgentDb, fence)]);
    context.owned.remove(fence);
    await context.onReleased();
    for (const each of [...flushed, ...released]) {
      if (each.status === 'fulfilled') continue;
      // If the lease is lost or the database is away, there is nothing to store or release.
      const isExpected = each.reason instanceof LeaseLost || isDatabaseDown(each.reason);
      log[isExpected ? 'debug' : 'warn'](`account ${userId}: not closed cleanly: ${messageOf(each.reason)}`);
    }
  };
  return { fence, source, store, mirror, reading, reader, bells, service, submitLoop, close };
}

/**
 * Sends a request about the webhook. 401 and 403 that concern only this endpoint are answers.
 * @throws TransportError if they concern the key
 */
export async function askAboutWebhook(
  source: Pick<AccountSource, 'once' | 'isGood'>,
  request: WebhookRequest,
  scrub: (text: string) => string,
): Promise<ServiceAnswer | undefined> {
  // A request on the wire is never aborted.
  const sent = { ...request, path: request.route, signal: new AbortController().signal };
  // With a high priority it would take slots from a first load before any event comes.
  const answer = await source.once({ ...sent, priority: PRIORITY.POLL });
  if (answer === undefined) return undefined;
  const { status, text } = answer;
  if ((status === 401 || status === 403) && !(await source.isGood(answer.keyHash, sent))) {
    throw new TransportError('the API key is refused', { sent: false });
  }
  // The answer to a registration holds its secret.
  return { status, text, words: status < 300 ? '' : quote(serviceMessage(text), scrub) };
}
