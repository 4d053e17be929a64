import type { AccountDetails, StatusReport } from '../model/status/status-report.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';

/** Whether the database is migrated and can be written. */
export type Ready = { readonly ok: true } | { readonly ok: false; readonly why: string };

export interface Sources {
  /** Called at most once a second, however many look on. */
  readonly status: () => Promise<StatusReport>;
  /** Called for one account at a time, and for each at most once in five seconds. */
  readonly account: (userId: string) => Promise<AccountDetails>;
  readonly ready: () => Promise<Ready>;
  readonly clock: Clock;
}

/** A report is given to all who ask within this time, in milliseconds. */
const FRESH_MS = 1_000;
/** What an account's page shows besides. */
const DETAILS_FRESH_MS = 5_000;
/** That it is not ready, so long: who starts it waits for nothing else, and asks again and again. */
const UNREADY_MS = 50;
/** Every answer is given within this time, in milliseconds: probes of orchestrators wait no longer. */
const PATIENCE_MS = 4_000;

/** What the routes ask for; never rejects, never hangs. */
export type Answers = ReturnType<typeof answersOf>;

export function answersOf(sources: Sources) {
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

  const details = new Map<string, () => Promise<AccountDetails>>();
  let inTurn: Promise<unknown> = Promise.resolve();
  const detailsOf = (userId: string): Promise<AccountDetails> => {
    const ask = (): Promise<AccountDetails> => {
      const turn = inTurn.then(() => sources.account(userId));
      inTurn = turn.catch(() => {});
      return turn;
    };
    const known = details.get(userId) ?? shared(ask, () => DETAILS_FRESH_MS);
    details.set(userId, known);
    return known();
  };

  const status = shared(sources.status, () => FRESH_MS);
  const ready = shared(sources.ready, ({ ok }) => (ok ? FRESH_MS : UNREADY_MS));
  let last: StatusReport | undefined;
  return {
    /** The newest report, and why there is none that is newer; undefined: it is new. */
    report: async (): Promise<{ readonly report: StatusReport | undefined; readonly why?: string }> => {
      try {
        last = await patiently(status());
        return { report: last };
      } catch (error) {
        return { report: last, why: messageOf(error) };
      }
    },
    /** Undefined: it can't be read now. @param userId of an account of the report */
    account: (userId: string): Promise<AccountDetails | undefined> =>
      patiently(detailsOf(userId)).catch(() => undefined),
    ready: (): Promise<Ready> =>
      patiently(ready()).catch((error: unknown) => ({ ok: false, why: messageOf(error) })),
  };
}
