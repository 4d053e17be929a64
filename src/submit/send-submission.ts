import type { OnceRequest, RawAnswer } from '../api/api.ts';
import { PRIORITY } from '../budget/priorities.ts';
import type { RateGroup } from '../budget/rate-groups.ts';
import { TransportError } from '../model/errors.ts';
import type {
  ClaimedSubmission,
  SubmissionOutcome,
  QueuedSubmission,
  SubmissionStore,
} from '../model/submission.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Mutex } from '@research-mirror/runtime/mutex';
import { messageOf } from '@research-mirror/runtime/message';
import { OPERATIONS } from './operations.ts';
import { mayMeanBadKey, outcomeOfAnswer, outcomeOfFailure } from './submission-outcome.ts';

/** The account's way to the service. */
export interface SubmissionSource {
  /** Sends a request at most once, under a slot. @throws KeyRefused, with nothing sent, when every key is refused */
  once(request: OnceRequest): Promise<(RawAnswer & { readonly keyHash: string }) | undefined>;
  /** Whether a ping finds the key good. @throws where that can't be asked */
  isGood(keyHash: string, request: Pick<OnceRequest, 'priority' | 'signal' | 'stop'>): Promise<boolean>;
  /** How many requests of the group its budget allows in 60 s. */
  sizeOf(group: RateGroup): number;
}

export interface SendingContext {
  readonly source: Pick<SubmissionSource, 'once' | 'isGood'>;
  readonly store: Pick<SubmissionStore, 'claim'>;
  readonly clock: Clock;
  /**
   * One of the account is claimed at a time: they would only wait for each other in Postgres, while the time in which
   * they must be written runs.
   */
  readonly claiming: Mutex;
  /** Monotonic moment until which this process may send for its accounts: its heartbeat (docs/design/ownership.md, "Heartbeat"). */
  readonly ownsUntil: () => number;
  /** The longest that a request may take after it was written. */
  readonly timeoutMs: number;
}

/** What came of it. */
export type Sent =
  /** The service answered. */
  | { readonly kind: 'answered'; readonly outcome: SubmissionOutcome }
  /** It may have been sent, and nobody answered. */
  | { readonly kind: 'lost'; readonly outcome: SubmissionOutcome }
  /** It was claimed, and provably not sent. */
  | { readonly kind: 'unsent'; readonly outcome: SubmissionOutcome }
  | { readonly kind: 'not-claimed' }
  /** A stop left it on the wire, or a defect lost its answer: it stays `sending` until nobody can know its outcome any more. */
  | { readonly kind: 'left'; readonly error: unknown };

/**
 * Sends one submission, at most once (docs/design/operations-out.md, "Submissions"). It is claimed when its slot is there, and written only while both
 * the claim's own bound and the heartbeat are valid on this machine's monotonic clock, asked in the moment of writing;
 * the claim's bound on its wall clock, too.
 * @param stop ends a wait for a slot at once, and lets a request on the wire be answered for some seconds
 * @param onClaim called when it is claimed, or is about to be
 * @param retryInMs how long to wait where nothing could be sent
 * @throws what `once` throws before anything was claimed: KeyRefused, LeaseLost, the database's trouble, the stop's reason
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
        // A stop, or a failure before it, may have come while others took their turns.
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
      // A machine that was suspended in between knows it by its wall clock alone.
      written = clock.monotonic() < Math.min(writeBefore, ownsUntil()) && clock.now() < wallBefore;
      return written;
    },
  };
  try {
    const answer = await source.once(request);
    if (answer === undefined) return { kind: 'not-claimed' };
    const good = mayMeanBadKey(answer) ? await ask(() => source.isGood(answer.keyHash, waiting)) : undefined;
    return { kind: 'answered', outcome: outcomeOfAnswer(answer, good, timeoutMs) };
  } catch (error) {
    if (claimed === undefined) throw error;
    if (!(error instanceof TransportError) && written) return { kind: 'left', error };
    const failure =
      error instanceof TransportError
        ? error
        : new TransportError(`not sent: ${messageOf(error)}`, { cause: error, sent: false });
    const outcome = outcomeOfFailure(failure, timeoutMs, retryInMs);
    return { kind: failure.sent ? 'lost' : 'unsent', outcome };
  }
}

/** Undefined where it can't be asked. */
async function ask(question: () => Promise<boolean>): Promise<boolean | undefined> {
  try {
    return await question();
  } catch {
    return undefined;
  }
}
