import type { Clock } from '@research-mirror/runtime/clock';

/**
 * How long (ms) a stop waits for an answer on the wire: well within the 8 s that a stop may take; and where another
 * process waits to go on, not so long that it would be noticed.
 */
export const LINGER_MS = { alone: 5_000, awaited: 600 } as const;

/** The signal of one attempt. */
export interface AttemptSignal {
  readonly signal: AbortSignal;
  /** To be called when the request goes out: from then on a stop waits for its answer. */
  sent(): void;
  /** To be called when the attempt has ended. */
  ended(): void;
}

/**
 * A stop ends a wait for a slot at once, but not a request on the wire: its slot is spent, and its answer brings a
 * page. An abort ends either at once.
 * @param lingerMs how long a stop waits for it, asked at the stop
 */
export function attemptSignal(
  { signal: abort, stop }: { readonly signal: AbortSignal; readonly stop?: AbortSignal | undefined },
  clock: Clock,
  lingerMs: () => number,
): AttemptSignal {
  const controller = new AbortController();
  const over = new AbortController();
  let onWire = false;
  const onAbort = (): void => controller.abort(abort.reason);
  const onStop = (): void => {
    if (!onWire) controller.abort(stop?.reason);
    else
      clock.sleep(lingerMs(), over.signal).then(
        () => controller.abort(stop?.reason),
        () => {},
      );
  };
  abort.addEventListener('abort', onAbort);
  stop?.addEventListener('abort', onStop);
  if (abort.aborted) onAbort();
  else if (stop?.aborted === true) onStop();
  return {
    signal: controller.signal,
    sent: () => {
      onWire = true;
    },
    ended: () => {
      abort.removeEventListener('abort', onAbort);
      stop?.removeEventListener('abort', onStop);
      over.abort();
    },
  };
}
