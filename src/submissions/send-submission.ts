import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import type { Mutex } from '@research-mirror/runtime/mutex';
import { RateLimited, TransportError } from '../model/errors.ts';
import type {
  ClaimedSubmission,
  OperationName,
  QueuedSubmission,
  SubmissionOutcome,
  SubmissionStore,
} from '../model/submission.ts';
import type { OnceRequest, RawAnswer } from '../service/api.ts';
import { PRIORITY, rateGroup } from '../service/rate-groups.ts';

/** Wait (ms) before another attempt if the key may be refused: another key may be used by then. */
const KEY_UNSURE_MS = 5_000;
/** How long (ms) a request may take to arrive. */
const ON_ITS_WAY_MS = 30_000;
/** How long after a request's end the service's lists may not show its effect (ms): replicas lag (MIRROR_SETTLE). */
export const LISTED_AFTER_MS = 60_000;

/** Whether an answer may mean that the key is refused: a ping decides. */
function mayMeanBadKey({ status }: Pick<RawAnswer, 'status'>): boolean {
  return status === 401 || status === 403;
}

/**
 * The outcome of a submission by the status of its answer (docs/design/operations-out.md, "What came of it").
 * @param keyIsGood whether a ping after a 401 or 403 accepted the key; undefined: no ping was answered
 * @param timeoutMs longest time that a request may take
 */
export function outcomeOfAnswer(
  answer: RawAnswer,
  keyIsGood: boolean | undefined,
  timeoutMs: number,
): SubmissionOutcome {
  const { status, text, refusal } = answer;
  const error = refusal?.message ?? `POST returned ${status}`;
  if (status >= 200 && status < 300) {
    const unread = answer.bodyError === undefined ? {} : { error: `${error}, but ${answer.bodyError}` };
    return { state: 'accepted', status, body: text, ...unread };
  }
  if (refusal instanceof RateLimited) {
    return { state: 'queued', error, retryInMs: refusal.retryAfter * 1000 };
  }
  if (mayMeanBadKey(answer) && keyIsGood !== true) {
    const ping = keyIsGood === undefined ? 'a ping could not tell why' : 'a ping was refused, too';
    return { state: 'queued', error: `${error} (${ping})`, retryInMs: KEY_UNSURE_MS };
  }
  if (status >= 400 && status < 500 && status !== 408 && status !== 425) {
    return { state: 'rejected', status, body: text, error };
  }
  return { state: 'unknown', status, body: text, error, conclusiveInMs: conclusiveInMs(timeoutMs) };
}

/** When the service's lists are conclusive, ms from now: behind a gateway that gave up, it may still be working. */
const conclusiveInMs = (timeoutMs: number): number => timeoutMs + ON_ITS_WAY_MS + LISTED_AFTER_MS;

export interface SendingContext {
  readonly source: {
    /** Sends a request at most once, under a slot. @throws KeyRefused, with nothing sent, if every key is refused */
    once(request: OnceRequest): Promise<(RawAnswer & { readonly keyHash: string }) | undefined>;
    /** Whether a ping accepts the key. Rejects if no ping is answered. */
    isGood(keyHash: string, request: Pick<OnceRequest, 'priority' | 'signal' | 'stop'>): Promise<boolean>;
  };
  readonly store: Pick<SubmissionStore, 'claim'>;
  readonly clock: Clock;
  /** Claims go one at a time: in Postgres they would wait for each other while the time to write them runs. */
  readonly claiming: Mutex;
  /** Monotonic moment until which this process may send (docs/design/ownership.md, "Heartbeat"). */
  readonly ownsUntil: () => number;
  /** Longest time (ms) that a request may take after it was written. */
  readonly timeoutMs: number;
}

/**
 * Sends one submission, at most once (docs/design/operations-out.md, "Submissions"). It is claimed when it has a slot.
 * It is written only while the claim and the heartbeat are valid by this machine's monotonic clock, and the claim by
 * its wall clock, too; both are read at the moment of writing.
 * @param stop ends a wait for a slot at once; a request on the wire may be answered for some seconds
 * @param onClaim called just before the claim
 * @param retryInMs how long to wait if nothing could be sent
 * @returns `sent`, whether its outcome is known or not; `unsent`: claimed, and certainly not sent; `left`: a stop or a
 *   defect lost its answer, and it stays `sending` until `recover`
 * @throws what `once` throws before the claim: KeyRefused, LeaseLost, errors of the database, the stop's reason
 */
export async function sendSubmission(
  context: SendingContext,
  queued: QueuedSubmission,
  stop: AbortSignal,
  onClaim: () => void,
  retryInMs: number,
): Promise<
  | { readonly kind: 'sent' | 'unsent'; readonly outcome: SubmissionOutcome }
  | { readonly kind: 'not-claimed' }
  | { readonly kind: 'left'; readonly error: unknown }
> {
  const { source, store, clock, claiming, ownsUntil, timeoutMs } = context;
  const { route, path } = OPERATIONS[queued.operation];
  const never = new AbortController().signal;
  const waiting = { priority: PRIORITY.SUBMISSION, signal: never, stop } as const;
  let claimed: ClaimedSubmission | undefined;
  let writeBefore = 0;
  let wallBefore = 0;
  let written = false;
  const request: OnceRequest = {
    ...waiting,
    method: 'POST',
    path: path(queued.targetId),
    route,
    body: () => claimed?.payload ?? '',
    idempotencyKey: queued.requestId,
    claim: () =>
      claiming.run(async () => {
        // During the wait for other claims a stop may have come, or an earlier submission may have failed.
        stop.throwIfAborted();
        onClaim();
        const calledAt = clock.monotonic();
        if (calledAt >= ownsUntil()) return false;
        const wallAtCall = clock.now();
        claimed = await store.claim(queued.id);
        writeBefore = calledAt + (claimed?.sendBeforeMs ?? 0);
        wallBefore = wallAtCall + (claimed?.sendBeforeMs ?? 0);
        return claimed !== undefined;
      }),
    mayWrite: () => {
      // After a suspension of the machine, only its wall clock shows the time that has passed.
      written = clock.monotonic() < Math.min(writeBefore, ownsUntil()) && clock.now() < wallBefore;
      return written;
    },
  };
  try {
    const answer = await source.once(request);
    if (answer === undefined) return { kind: 'not-claimed' };
    const isGood = mayMeanBadKey(answer)
      ? await source.isGood(answer.keyHash, waiting).catch(() => undefined)
      : undefined;
    return { kind: 'sent', outcome: outcomeOfAnswer(answer, isGood, timeoutMs) };
  } catch (error) {
    if (claimed === undefined) throw error;
    if (!(error instanceof TransportError) && written) return { kind: 'left', error };
    if (error instanceof TransportError && error.sent) {
      const unread = { status: undefined, body: undefined, conclusiveInMs: conclusiveInMs(timeoutMs) };
      return { kind: 'sent', outcome: { state: 'unknown', error: error.message, ...unread } };
    }
    const why = error instanceof TransportError ? error.message : `not sent: ${messageOf(error)}`;
    return { kind: 'unsent', outcome: { state: 'queued', error: why, retryInMs } };
  }
}

/** The POST operations of the service (specification 4.4). */
export const OPERATIONS: Readonly<Record<OperationName, ReturnType<typeof operation>>> = {
  research: operation('/v1/research'),
  enrich: operation('/v1/enrich'),
  clay_enrich: operation('/v1/clay/enrich'),
  bulk_research: operation('/v1/research/bulk'),
  list: operation('/v1/lists'),
  list_analyze: operation('/v1/lists/{id}/analyze'),
  sequence: operation('/v1/research/{id}/sequence'),
};

/** @param route path with `{id}` for the target, as limits and metrics name it */
function operation(route: string) {
  return {
    route,
    /** @param target ID for the path; ignored if the operation has no target */
    path: (target: string | null) => route.replace('{id}', () => encodeURIComponent(target ?? '')),
    group: rateGroup('POST', route),
  };
}
