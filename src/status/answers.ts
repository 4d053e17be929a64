import { askedAtMost } from '@research-mirror/runtime/asked-at-most';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { Mutex } from '@research-mirror/runtime/mutex';
import type { AccountDetails, StatusReport } from '../model/status/status-report.ts';

/** Whether the database is migrated and can be written. */
export type Ready = { readonly ok: true } | { readonly ok: false; readonly why: string };

export interface Sources {
  /** Called at most once a second, however many look on, and one at a time while it fails. */
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
export function answersOf(sources: Sources) {
  const { clock } = sources;
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
  const status = askedAtMost(clock, sources.status, () => FRESH_MS);
  const ready = askedAtMost(clock, sources.ready, ({ ok }) => (ok ? FRESH_MS : UNREADY_MS));
  const turn = new Mutex();
  const details = new Map<string, () => Promise<AccountDetails>>();
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
    account: (userId: string): Promise<AccountDetails | undefined> => {
      const read = (): Promise<AccountDetails> => turn.run(() => sources.account(userId));
      const known = details.get(userId) ?? askedAtMost(clock, read, () => DETAILS_FRESH_MS);
      details.set(userId, known);
      return patiently(known()).catch(() => undefined);
    },
    ready: (): Promise<Ready> =>
      patiently(ready()).catch((error: unknown) => ({ ok: false, why: messageOf(error) })),
  };
}
