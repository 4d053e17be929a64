import { messageOf } from './message.ts';

/**
 * The contract of everything that runs:
 * - `start` resolves when the service works, and rejects if it can't; a second call answers the same promise
 * - `stop` resolves when everything of the service has ended; idempotent, safe before and during `start`
 * - `ended` resolves when the service has ended: undefined after a stop, otherwise the error that ended it
 */
export interface Service {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly ended: Promise<Error | undefined>;
}

/** The reason with which a service aborts its signal. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor(what: string) {
    super(`${what} was stopped`);
  }
}

/** Whether it is the error of a wait that a stop aborted. */
export function isStopped(error: unknown): boolean {
  return error instanceof Stopped || (error instanceof Error && error.cause instanceof Stopped);
}

/**
 * Makes a service of `body`, which runs until `signal` aborts, and cleans up after itself. It ends by returning or by
 * throwing the signal's reason.
 * @param body calls `ready` when the service works: `start` resolves then
 */
export function service(
  name: string,
  body: (run: { readonly signal: AbortSignal; readonly ready: () => void }) => Promise<void>,
): Service {
  const controller = new AbortController();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Error | undefined>();
  // `ended` reports a failure, and so does `start` before `ready`: it is never an unhandled rejection.
  ready.promise.catch(() => {});
  let running = false;

  const run = async (): Promise<void> => {
    let failure: Error | undefined;
    try {
      await body({ signal: controller.signal, ready: ready.resolve });
      if (!controller.signal.aborted) failure = new Error(`${name} ended by itself`);
    } catch (error) {
      if (!(controller.signal.aborted && isStopped(error)))
        failure = error instanceof Error ? error : new Error(messageOf(error));
    }
    ready.reject(failure ?? new Stopped(name));
    ended.resolve(failure);
  };

  return {
    name,
    ended: ended.promise,
    start() {
      if (!running) {
        running = true;
        if (!controller.signal.aborted) void run();
        else {
          ready.reject(new Stopped(name));
          ended.resolve(undefined);
        }
      }
      return ready.promise;
    },
    async stop() {
      controller.abort(new Stopped(name));
      if (running) await ended.promise;
    },
  };
}

/** Resolves when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** `task`, but an abort rejects at once with the signal's reason; the task itself goes on. */
export function orAborted<T>(task: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    task.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Starts services in order. If one can't start, the earlier ones are stopped. @throws its error */
export async function startAll(services: readonly Service[]): Promise<void> {
  const started: Service[] = [];
  try {
    for (const each of services) {
      started.push(each);
      await each.start();
    }
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

/** Stops services, the last one first. */
export async function stopAll(services: readonly Service[]): Promise<void> {
  for (const each of services.toReversed()) await each.stop();
}
