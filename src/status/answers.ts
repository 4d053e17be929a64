import type { StatusReport } from '../model/status/status-report.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';

/** Whether the database is migrated and can be written. */
export type Ready = { readonly ok: true } | { readonly ok: false; readonly why: string };

/** What the routes ask for; never rejects, never hangs. */
export interface Answers {
  report(): Promise<{ readonly report: StatusReport } | { readonly why: string }>;
  ready(): Promise<Ready>;
}

/** A report is given to all who ask within this time, in milliseconds. */
const FRESH_MS = 1_000;
/** That it is not ready, so long: who starts it waits for nothing else, and asks again and again. */
const UNREADY_MS = 50;
/** Every answer is given within this time, in milliseconds: probes of orchestrators wait no longer. */
const PATIENCE_MS = 4_000;

export function answersOf(sources: {
  readonly status: () => Promise<StatusReport>;
  readonly ready: () => Promise<Ready>;
  readonly clock: Clock;
}): Answers {
  const { clock } = sources;

  /** `ask`, one at a time, and what it answered as long as it is fresh: many viewers cost the database as much as one. */
  const shared = <T>(ask: () => Promise<T>, freshMs: (answer: T) => number): (() => Promise<T>) => {
    let staleAt = Number.NEGATIVE_INFINITY;
    let open = false;
    let last: Promise<T> | undefined;
    return () => {
      if (last === undefined || (!open && clock.monotonic() >= staleAt)) {
        const begunAt = clock.monotonic();
        staleAt = begunAt + FRESH_MS;
        open = true;
        last = Promise.try(ask)
          .then((answer) => {
            staleAt = begunAt + freshMs(answer);
            return answer;
          })
          .finally(() => {
            open = false;
          });
      }
      return last;
    };
  };

  const patiently = async <T>(asked: Promise<T>): Promise<T> => {
    const answered = new AbortController();
    const late = clock.sleep(PATIENCE_MS, answered.signal).then(() => {
      throw new Error(`the database did not answer within ${PATIENCE_MS / 1000} s`);
    });
    late.catch(() => {});
    try {
      return await Promise.race([asked, late]);
    } finally {
      answered.abort();
    }
  };

  const status = shared(sources.status, () => FRESH_MS);
  const ready = shared(sources.ready, ({ ok }) => (ok ? FRESH_MS : UNREADY_MS));
  return {
    report: () =>
      patiently(status()).then(
        (report) => ({ report }),
        (error: unknown) => ({ why: messageOf(error) }),
      ),
    ready: () => patiently(ready()).catch((error: unknown) => ({ ok: false, why: messageOf(error) })),
  };
}
