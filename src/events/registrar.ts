import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { KeyRefused, LeaseLost, ServiceDown } from '../model/errors.ts';
import { afterRequest, goAstray, hostOf, decide, lookAt, nothingArrives } from './decisions.ts';
import { type RegistrationSettings, settledBy, silence } from './decisions.ts';
import { type Registration, type RegistrationChange, type Seen, UNANNOUNCED } from './registration.ts';
import { askWhatIsRegistered, register, type WebhookService } from './service-calls.ts';
import type { RegistrationStore } from './webhook-store.ts';

/** Interval at which stored deliveries and changes are read, and the delay after a failure, ms. */
const STORED_MS = 60_000;

export type RegistrarOptions = Parameters<typeof registrar>[0];

/**
 * Keeps one account's webhook registered as configured (docs/design/events.md, "Registration"), while this process
 * owns the account.
 * @returns the loop. It ends only by throwing: KeyRefused if no key is good, LeaseLost, the signal's reason
 */
export function registrar(options: {
  readonly userId: string;
  /** MIRROR_PUBLIC_URL, without trailing slash. */
  readonly publicUrl: string | undefined;
  readonly takeover: RegistrationSettings['takeover'];
  readonly service: WebhookService;
  readonly store: RegistrationStore;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** Keeps a secret out of all output. */
  readonly hide: (secret: string) => void;
  /** Why deliveries do not get to our listener, with the remedy; undefined: they do, or there is none. */
  readonly whyAstray: () => Promise<string | undefined>;
  /** Called after a registration: no event announced earlier changes, so only a reading finds them. */
  readonly onRegistered: (userId: string) => void;
}): (signal: AbortSignal) => Promise<never> {
  const { userId, publicUrl, takeover, service, store, clock, log, hide, whyAstray, onRegistered } = options;
  const wanted = publicUrl === undefined ? undefined : `${publicUrl}/webhooks/${userId}`;
  return async (signal) => {
    let fresh = true;
    let unannounced = 0;
    let logged = '';
    const settings = (): RegistrationSettings => ({ wanted, takeover, fresh, unannounced });

    /** Loads the stored registration and logs its changes. */
    const load = async (): Promise<Registration> => {
      const it = await store.load();
      if (it.secret !== null) hide(it.secret);
      const host = it.url === null ? '' : hostOf(it.url);
      const line = JSON.stringify([it.state, host, it.error]);
      if (line === logged) return it;
      logged = line;
      if (it.error !== null) log.warn(`account ${userId}: ${it.error}`);
      else if (it.state === 'registered') log.info(`account ${userId}: events arrive at ${host}`);
      return it;
    };

    /** Decides again right before the request: what is stored may have changed while it waited for its slot. */
    const claim = async (seen: Seen): Promise<boolean> => {
      const { kind, change } = decide(await load(), seen, settings());
      if (kind !== 'register') return false;
      // Committed before the request is written: after a crash the successor knows that it may be under way.
      await store.save((now) => ({ ...change, checkedAt: now }), seen);
      return true;
    };

    const registerUrl = async (seen: Seen, before: Registration, why?: string): Promise<void> => {
      const url = wanted ?? '';
      // Asked first: the new secret is stored as soon as it comes.
      const astray = await whyAstray();
      const outcome = await register(service, url, () => claim(seen), signal);
      if (outcome === undefined) return;
      const change = (now: Date): RegistrationChange => afterRequest(outcome, url, before.state, now);
      if (outcome.kind === 'accepted') {
        if (why !== undefined) log.warn(`account ${userId}: ${why}`);
        hide(outcome.secret);
        const error = astray === undefined ? null : goAstray(astray);
        await store.save((now) => ({ ...change(now), error }), outcome.seen);
        onRegistered(userId);
      } else await store.save(change);
      fresh = false;
    };

    /**
     * What is wrong with the way of deliveries, as seen from here; null: nothing is known. If deliveries come and
     * changes are announced, the service has a way, even if this machine sees none.
     */
    const whyNothingComes = async ({ verifiedAt, registeredAt }: Registration): Promise<string | null> => {
      const silent = unannounced >= UNANNOUNCED;
      const heard = verifiedAt !== null && registeredAt !== null && verifiedAt > registeredAt;
      if (heard && !silent) return null;
      const why = await whyAstray();
      if (why !== undefined) return goAstray(why);
      return silent ? nothingArrives(unannounced) : null;
    };

    const look = async (): Promise<void> => {
      const seen = await askWhatIsRegistered(service, signal);
      const before = await load();
      const { kind, change, why } = decide(before, seen, settings());
      if (kind === 'register') return registerUrl(seen, before, why);
      const error = change.state === 'registered' ? { error: await whyNothingComes(before) } : {};
      await store.save((now) => ({ ...change, ...error, checkedAt: now }), seen);
      fresh = false;
    };

    /** @returns milliseconds until the next step is due */
    const step = async (): Promise<number> => {
      const it = await load();
      if (wanted !== undefined) {
        const change = settledBy(it);
        if (change !== undefined) {
          await store.save(() => change);
          return 0;
        }
        const span = silence(it);
        unannounced = span === undefined ? 0 : await store.unannounced(span.since, span.until);
      }
      const waitMs = lookAt(it, settings()).getTime() - it.now.getTime();
      if (waitMs > 0) return wanted === undefined ? waitMs : Math.min(waitMs, STORED_MS);
      await look();
      return 0;
    };

    /** Stores the failure for `status` unless another error is stored. @returns the delay, ms */
    const failed = async (error: unknown): Promise<number> => {
      if (signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused) throw error;
      const message = messageOf(error);
      log.debug(`account ${userId}: webhook: ${message}`);
      // The process logs once that the service or the database is down (src/account/process.ts).
      if (error instanceof ServiceDown || error instanceof DatabaseUnavailable) return STORED_MS;
      const text = `the webhook can't be checked: ${message}. Retried every minute`;
      try {
        const it = await load();
        if (wanted !== undefined && it.error === null) await store.save(() => ({ error: text }));
      } catch (failure) {
        if (failure instanceof LeaseLost) throw failure;
      }
      return STORED_MS;
    };

    for (;;) {
      signal.throwIfAborted();
      const waitMs = await step().catch(failed);
      if (waitMs > 0) await clock.sleep(waitMs, signal);
    }
  };
}
