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
import { PRIORITY, rateGroup, type RateGroup } from '../service/rate-groups.ts';

/** Wait (ms) before another attempt, where the key may be refused: another key may be used by then. */
const KEY_UNSURE_MS = 5_000;
/** How long (ms) a request may take to arrive, and replicas to show what it did. */
const ON_ITS_WAY_MS = 30_000;
const LISTED_AFTER_MS = 60_000;

/** Whether an answer may mean that the key is refused: a ping decides. */
function mayMeanBadKey({ status }: Pick<RawAnswer, 'status'>): boolean {
  return status === 401 || status === 403;
}

/**
 * The outcome of a submission by the status of its answer (docs/design/operations-out.md, "What came of it").
 * @param keyIsGood what a ping said after a 401 or 403; undefined where it could not be asked
 * @param timeoutMs the longest time that a request may take
 */
export function outcomeOfAnswer(
  answer: RawAnswer,
  keyIsGood: boolean | undefined,
  timeoutMs: number,
): SubmissionOutcome {
  const { status, text, refusal } = answer;
  const error = refusal?.message ?? `POST was answered ${status}`;
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

/**
 * After how long (ms) a look at the service is conclusive: behind a gateway that gave up, it may still be working.
 */
function conclusiveInMs(timeoutMs: number): number {
  return timeoutMs + ON_ITS_WAY_MS + LISTED_AFTER_MS;
}

/** The account's way to the service. */
export interface SubmissionSource {
  /** Sends a request at most once, under a slot. @throws KeyRefused, with nothing sent, when every key is refused */
  once(request: OnceRequest): Promise<(RawAnswer & { readonly keyHash: string }) | undefined>;
  /** Whether a ping accepts the key. @throws where no ping is answered */
  isGood(keyHash: string, request: Pick<OnceRequest, 'priority' | 'signal' | 'stop'>): Promise<boolean>;
}

export interface SendingContext {
  readonly source: SubmissionSource;
  readonly store: Pick<SubmissionStore, 'claim'>;
  readonly clock: Clock;
  /**
   * The account's submissions are claimed one at a time: in Postgres they would wait for each other, while the time
   * runs in which they must be written.
   */
  readonly claiming: Mutex;
  /** Monotonic moment until which this process may send (docs/design/ownership.md, "Heartbeat"). */
  readonly ownsUntil: () => number;
  /** The longest time (ms) that a request may take after it was written. */
  readonly timeoutMs: number;
}

/** What became of a submission. */
export type Sent =
  /** It was sent, whether the service answered or nobody knows. */
  | { readonly kind: 'sent'; readonly outcome: SubmissionOutcome }
  /** It was claimed, and certainly not sent. */
  | { readonly kind: 'unsent'; readonly outcome: SubmissionOutcome }
  | { readonly kind: 'not-claimed' }
  /** A stop or a defect lost its answer: it stays `sending` until nobody can know its outcome any more. */
  | { readonly kind: 'left'; readonly error: unknown };

/**
 * Sends one submission, at most once (docs/design/operations-out.md, "Submissions"). It is claimed when it has a
 * slot. It is written only while the claim and the heartbeat are valid by this machine's monotonic clock, and the
 * claim by its wall clock, too; both are read at the moment of writing.
 * @param stop ends a wait for a slot at once; a request that was sent may be answered for some seconds
 * @param onClaim called just before it is claimed
 * @param retryInMs how long to wait where nothing could be sent
 * @throws what `once` throws before the claim: KeyRefused, LeaseLost, errors of the database, the stop's reason
 */
export async function sendSubmission(
  context: SendingContext,
  queued: QueuedSubmission,
  stop: AbortSignal,
  onClaim: () => void,
  retryInMs: number,
): Promise<Sent> {
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
        // While others were claimed, a stop may have come, or the failure of one before it.
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
      // After the machine was suspended, only its wall clock shows the time that has passed.
      written = clock.monotonic() < Math.min(writeBefore, ownsUntil()) && clock.now() < wallBefore;
      return written;
    },
  };
  try {
    const answer = await source.once(request);
    if (answer === undefined) return { kind: 'not-claimed' };
    const good = mayMeanBadKey(answer) ? await ask(() => source.isGood(answer.keyHash, waiting)) : undefined;
    return { kind: 'sent', outcome: outcomeOfAnswer(answer, good, timeoutMs) };
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

/** @returns undefined where it can't be asked */
async function ask(question: () => Promise<boolean>): Promise<boolean | undefined> {
  try {
    return await question();
  } catch {
    return undefined;
  }
}

/** A POST operation of the service (specification 4.4). */
interface Operation {
  /** Path with `{id}` for the target, as limits and metrics name it. */
  readonly route: string;
  /** @param target ID of what it is carried out on; ignored where the operation has no target */
  readonly path: (target: string | null) => string;
  /** The rate limit in which it counts (specification 8.2). */
  readonly group: RateGroup;
}

/** Every operation that can be submitted. */
export const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  research: operation('/v1/research'),
  enrich: operation('/v1/enrich'),
  clay_enrich: operation('/v1/clay/enrich'),
  bulk_research: operation('/v1/research/bulk'),
  list: operation('/v1/lists'),
  list_analyze: operation('/v1/lists/{id}/analyze'),
  sequence: operation('/v1/research/{id}/sequence'),
};

function operation(route: string): Operation {
  return {
    route,
    path: (target) => route.replace('{id}', () => encodeURIComponent(target ?? '')),
    group: rateGroup('POST', route),
  };
}
