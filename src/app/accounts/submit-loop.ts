import { TRANSPORT_LIMITS } from '../../api/transport.ts';
import { createSubmissionStore } from '../../db/submissions/submission-store.ts';
import { explainWait, whyCreditsTooLow } from '../../db/submissions/waiting-submissions.ts';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { submitter } from '../../submit/submitter.ts';
import type { OpenAccount, RunnerContext } from './open-account.ts';

/**
 * Sends the queued submissions of an account that this process owns, until the signal aborts.
 * @param bell rung when something was queued
 * @param only sends this one; left out: all
 */
export function submitLoop(
  { fence, source }: OpenAccount,
  context: RunnerContext,
  { bell = new Doorbell(), only }: { readonly bell?: Doorbell; readonly only?: string },
): (signal: AbortSignal) => Promise<never> {
  const { config, db, link, log } = context;
  const { submit } = config;
  const { creditsFloor: floor } = submit;
  return submitter({
    source,
    store: createSubmissionStore({ db, fence, collections: new Set(config.collections), only }),
    clock: link.clock,
    whyCreditsTooLow: async () =>
      floor === undefined ? undefined : whyCreditsTooLow(db, fence.userId, floor),
    explainWait: (why) => explainWait(db, fence, why),
    ownsUntil: context.ownsUntil,
    bell,
    enabled: submit.enabled,
    timeoutMs: TRANSPORT_LIMITS.totalMs,
    log,
    onDone: context.onSubmission,
  });
}
