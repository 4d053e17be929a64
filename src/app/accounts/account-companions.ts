import { quote, serviceMessage } from '../../api/refusal.ts';
import { TRANSPORT_LIMITS } from '../../api/transport.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import { createSubmissionStore } from '../../db/submissions/submission-store.ts';
import { explainWait, whyCreditsTooLow } from '../../db/submissions/stored-submissions.ts';
import { webhookStore } from '../../db/webhook/webhook-store.ts';
import { submitter } from '../../submit/submitter.ts';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import type { Companion, Follow } from '../../sync/loops/account-service.ts';
import { rateGroup } from '../../budget/rate-groups.ts';
import { HintDispatcher } from '../../sync/hints/hint-dispatcher.ts';
import { createHintStore } from '../../sync/hints/account-hints.ts';
import type { ServiceAnswer } from '../../webhooks/registration/answers.ts';
import { registrar } from '../../webhooks/registration/registrar.ts';
import type { WebhookRequest } from '../../webhooks/registration/service-calls.ts';
import { TransportError } from '../../model/errors.ts';
import type { OpenAccount, RunnerContext } from './open-account.ts';

export type AccountCompanions = ReturnType<typeof accountCompanions>;

/** What an account does beside its schedule: reads what events named, sends submissions, keeps its webhook. */
export function accountCompanions(context: RunnerContext, account: OpenAccount) {
  const { failures, link, config } = context;
  const { fence, reader, source } = account;
  // All reads are of one endpoint group.
  const reads = rateGroup('GET', '/v1/research');
  const dispatcher = new HintDispatcher({
    reader,
    store: createHintStore(context.db, fence),
    collections: config.collections,
    perMinute: () => source.sizeOf(reads),
    gracePeriodMs: config.gracePeriodMs,
    onFailure: (what, error) =>
      failures.failed(`${fence.userId}: ${what}`, `account ${fence.userId}: ${what}`, error),
    clock: link.clock,
    random: link.random,
  });
  const submissions = new Doorbell();
  return {
    loops: [
      (signal: AbortSignal, follow: Follow) => dispatcher.run(signal, follow),
      submitLoop(account, context, submissions),
      registrationLoop(context, account),
    ],
    // Each is rung when its loop has something to do; `filling` is heard when the account is tidied.
    bells: { hints: dispatcher.bell, submissions, filling: new Doorbell() },
  };
}

/**
 * Sends the queued submissions of an account that this process owns, until the signal aborts.
 * @param only sends this one; left out: all
 */
export function submitLoop(
  { fence, source }: OpenAccount,
  context: RunnerContext,
  bell: Doorbell,
  only?: string,
): (signal: AbortSignal) => Promise<never> {
  const { config, db, link, log } = context;
  const { creditsFloor: floor, enabled } = config.submit;
  return submitter({
    source,
    store: createSubmissionStore({ db, fence, collections: new Set(config.collections), only }),
    clock: link.clock,
    whyCreditsTooLow: async () =>
      floor === undefined ? undefined : whyCreditsTooLow(db, fence.userId, floor),
    explainWait: (why) => explainWait(db, fence, why),
    ownsUntil: () => context.ownsUntil(),
    bell,
    enabled,
    timeoutMs: TRANSPORT_LIMITS.totalMs,
    log,
    onDone: context.onSubmission,
  });
}

function registrationLoop(
  { config, db, link, log, hide, onChanged, onRegistered, whyAstray }: RunnerContext,
  { fence, source }: OpenAccount,
): Companion {
  const { publicUrl, takeover } = config.webhook;
  return registrar({
    userId: fence.userId,
    publicUrl,
    takeover,
    service: (request) => askAboutWebhook(source, request, link.scrub),
    store: webhookStore(db, fence, onChanged),
    clock: link.clock,
    log,
    hide,
    whyAstray,
    onRegistered,
  });
}

/**
 * One request about the webhook. 401 and 403 may mean this endpoint alone: then they are its answer.
 * @throws TransportError where they mean the key
 */
export async function askAboutWebhook(
  source: Pick<OpenAccount['source'], 'once' | 'isGood'>,
  request: WebhookRequest,
  scrub: (text: string) => string,
): Promise<ServiceAnswer | undefined> {
  // Never aborted once it is on the wire.
  const asked = { ...request, path: request.route, signal: new AbortController().signal };
  // Nobody waits for it. With a high priority it would take slots from a first load, before any event comes.
  const answer = await source.once({ ...asked, priority: PRIORITY.POLL });
  if (answer === undefined) return undefined;
  const { status, text } = answer;
  if ((status === 401 || status === 403) && !(await source.isGood(answer.keyHash, asked))) {
    throw new TransportError('the API key is refused', { sent: false });
  }
  // The answer to a registration holds its secret.
  return { status, text, words: status < 300 ? '' : quote(serviceMessage(text), scrub) };
}
