import { KeyRefused, LeaseLost, ServiceDown } from '../../model/errors.ts';
import {
  isLately,
  type Registration,
  type RegistrationStore,
  type Seen,
  type StoredRegistration,
  SILENT_CHANGES,
  SUSPECT_MISSED,
} from '../../model/webhook/registration.ts';
import type { RegistrationState } from '../../model/webhook/webhook-secrets.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Doorbell } from '@research-mirror/runtime/doorbell';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { afterRequest } from './after-request.ts';
import { judgeSeen } from './judge-seen.ts';
import { nextStep } from './next-step.ts';
import { hostOf } from './same-url.ts';
import {
  askWhatIsRegistered,
  register,
  remove,
  WebhookProblem,
  type WebhookService,
} from './service-calls.ts';
import { goAstray, goneAtService, nothingArrives, saysAstray, SUSPECT_SIGNATURES } from './remedies.ts';
import { AGAIN_MS, CHECK_MS, type RegistrationSettings } from './registration-step.ts';

export interface RegistrarOptions {
  readonly userId: string;
  /** MIRROR_PUBLIC_URL, without trailing slash. */
  readonly publicUrl: string | undefined;
  readonly takeover: RegistrationSettings['takeover'];
  readonly service: WebhookService;
  readonly store: RegistrationStore;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** No line of output shows this from now on. */
  readonly hide: (secret: string) => void;
  /** Rung when what is stored has changed, by receivers, releases and the like. */
  readonly bell: Doorbell;
  /** Why deliveries do not get to our listener, with the remedy; undefined: they do, or there is none. */
  readonly whyAstray: () => Promise<string | undefined>;
  /** Called at the beginning, at each change, and after each registration. */
  readonly onChange: (news: RegistrationNews) => void;
}

export interface RegistrationNews {
  readonly userId: string;
  readonly state: RegistrationState;
  /** Host of our URL; null: none was ever sent. */
  readonly host: string | null;
  /** What is wrong, with the remedy. */
  readonly error: string | null;
  /** It has just been registered: no event announced earlier changes, and only a reading finds them. */
  readonly renewed: boolean;
  /** Deliveries match no secret: only a reading shows whether the service announces its changes. */
  readonly mistrusted: boolean;
}

/** How often (ms) the findings of receivers in other processes are read. */
const STORED_MS = 60_000;
/** Wait (ms) after a failure; doubled for each further one, up to the regular interval. */
const FIRST_RETRY_MS = 60_000;

/**
 * Keeps one account's webhook registered as configured (docs/design/events.md, "Registration"), while this process
 * owns the account. The loop ends only by throwing: KeyRefused where no key is good, LeaseLost, the signal's reason.
 */
export function registrar(options: RegistrarOptions): (signal: AbortSignal) => Promise<never> {
  return async (signal) => {
    const run = new Registrar(options);
    for (;;) {
      const waitMs = await run.once(signal);
      await rungOrOver(options, waitMs, signal);
    }
  };
}

class Registrar {
  readonly #options: RegistrarOptions;
  readonly #wanted: string | undefined;
  #fresh = true;
  #lost = 0;
  #failures = 0;
  /** Next attempt, on the monotonic clock: not earlier, however often the bell rings. */
  #notBefore = Number.NEGATIVE_INFINITY;
  /** The last news, as JSON. */
  #lastNews = '';
  /** The failure that was logged, and then stored. */
  #noted: string | undefined;
  #renewed = false;
  #mistrusted = false;
  /** By the database's clock: when mismatches last made it check the secret, and read the changes. */
  #weighedAt: Date | undefined;
  #readAt: Date | undefined;
  /** By the database's clock: when it was last counted what no event announced; what that gave, now and at the last look. */
  #countedAt: Date | undefined;
  #unannounced = 0;
  #unannouncedAtLook = 0;
  /** When, on the monotonic clock, it is tried again whether deliveries get here; whether they did; why they do not. */
  #tryWayAt = Number.NEGATIVE_INFINITY;
  #wayWasRight = false;
  #astray: string | null = null;

  constructor(options: RegistrarOptions) {
    this.#options = options;
    this.#wanted =
      options.publicUrl === undefined ? undefined : `${options.publicUrl}/webhooks/${options.userId}`;
  }

  /** One step. @returns milliseconds until the next one is due */
  async once(signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    const left = this.#notBefore - clock.monotonic();
    if (left > 0) return left;
    try {
      const waitMs = await this.#step(signal);
      if (waitMs > 0) this.#failures = 0;
      return waitMs;
    } catch (error) {
      if (signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused) throw error;
      // That the service or the database is down is logged once for all (src/app/process/process.ts).
      const isDown = (error as Error).cause instanceof ServiceDown || error instanceof DatabaseUnavailable;
      const logged = this.#failures > 0 || isDown;
      this.#options.log[logged ? 'debug' : 'warn'](
        `account ${this.#options.userId}: webhook: ${messageOf(error)}`,
      );
      const waitMs = Math.min(CHECK_MS, FIRST_RETRY_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#notBefore = clock.monotonic() + waitMs;
      await this.#noteFailure(messageOf(error));
      return waitMs;
    }
  }

  async #step(signal: AbortSignal): Promise<number> {
    const stored = await this.#load();
    const step = nextStep(stored, this.#settings());
    switch (step.kind) {
      case 'wait': {
        const waitMs = step.until.getTime() - stored.now.getTime();
        if (await this.#tryWay(stored.registration)) return 0;
        return this.#wanted === undefined ? waitMs : Math.min(waitMs, STORED_MS);
      }
      case 'record':
        await this.#options.store.save(() => step.change);
        return 0;
      case 'weigh':
        await this.#weigh(step.since, step.until, stored.now);
        return 0;
      case 'count':
        await this.#count(step.since, step.until, stored.now);
        return 0;
      case 'look':
        return this.#look(signal);
    }
  }

  /** How many changes were not announced. */
  async #count(since: Date, until: Date, now: Date): Promise<void> {
    this.#countedAt = now;
    this.#unannounced = await this.#options.store.missed(since, until);
    this.#unannouncedAtLook = Math.min(this.#unannouncedAtLook, this.#unannounced);
  }

  /**
   * Whether the secret was replaced. Where our own readings do not show it, another one is asked for, at most hourly.
   */
  async #weigh(since: Date, until: Date, now: Date): Promise<void> {
    const { store } = this.#options;
    this.#weighedAt = now;
    if ((await store.missed(since, until)) >= SUSPECT_MISSED) {
      await store.save(() => ({ state: 'suspect', error: SUSPECT_SIGNATURES }));
    } else if (this.#readAt === undefined || !isLately(this.#readAt, AGAIN_MS, now)) {
      this.#readAt = now;
      this.#mistrusted = true;
    }
  }

  async #look(signal: AbortSignal): Promise<number> {
    const { service, store } = this.#options;
    const seen = await askWhatIsRegistered(service, signal);
    const stored = await this.#load();
    const verdict = judgeSeen(stored, seen, this.#settings());
    const { kind, change } = verdict;
    this.#unannouncedAtLook = this.#unannounced;
    switch (kind) {
      case 'register':
        return this.#register(verdict.url, seen, stored.registration, signal);
      case 'remove':
        if (await remove(service, () => this.#claim('remove', seen), signal)) {
          await store.save((now) => ({ state: 'none', error: null, checkedAt: now }), 'none');
          this.#fresh = false;
        }
        return 0;
      case 'record': {
        const silent = change.state === 'registered' && this.#unannounced >= SILENT_CHANGES;
        const error = this.#astray ?? (silent ? nothingArrives(this.#unannounced) : change.error);
        const found = change.state === 'registered' ? { ...change, error: error ?? null } : change;
        await store.save((now) => ({ ...found, checkedAt: now }), seen);
        this.#fresh = false;
        return 0;
      }
    }
  }

  /**
   * Whether our URL leads to our listener. Seen from here: where a delivery came, and the URL never led here, the
   * service has another way.
   * @returns whether something was stored
   */
  async #tryWay({ state, error, verifiedAt, registeredAt }: Registration): Promise<boolean> {
    const { whyAstray, clock, store } = this.#options;
    if (state !== 'registered' || clock.monotonic() < this.#tryWayAt) return false;
    const why = await whyAstray();
    const comesAnotherWay =
      !this.#wayWasRight && verifiedAt !== null && registeredAt !== null && verifiedAt > registeredAt;
    this.#wayWasRight ||= why === undefined;
    this.#astray = why === undefined || comesAnotherWay ? null : goAstray(why);
    this.#tryWayAt = clock.monotonic() + (this.#astray === null ? CHECK_MS : STORED_MS);
    const known = error === null || saysAstray(error);
    if (!known || error === this.#astray) return false;
    await store.save(() => ({ error: this.#astray }));
    return true;
  }

  /** Decides again right before the request: what is stored may have changed while it waited for its slot. */
  async #claim(kind: 'register' | 'remove', seen: Seen): Promise<boolean> {
    const verdict = judgeSeen(await this.#load(), seen, this.#settings());
    if (verdict.kind !== kind) return false;
    // Committed before the request is written: after a crash its successor knows that it may be under way.
    await this.#options.store.save((now) => ({ ...verdict.change, checkedAt: now }), seen);
    return true;
  }

  async #register(url: string, seen: Seen, before: Registration, signal: AbortSignal): Promise<number> {
    const { service, store, hide } = this.#options;
    const inForce = before.state === 'registered' && before.secret !== null;
    const outcome = await register(service, url, () => this.#claim('register', seen), signal);
    if (outcome === undefined) return 0;
    if (inForce && outcome.kind === 'accepted') {
      this.#options.log.warn(`account ${this.#options.userId}: ${goneAtService(seen)}`);
    }
    this.#unannounced = 0;
    this.#unannouncedAtLook = 0;
    if (outcome.kind === 'accepted' && outcome.secret !== undefined) hide(outcome.secret);
    const shown = outcome.kind === 'accepted' ? outcome.seen : undefined;
    await store.save((now) => afterRequest(outcome, url, before, now), shown);
    this.#lost = outcome.kind === 'lost' ? this.#lost + 1 : 0;
    this.#renewed = outcome.kind === 'accepted';
    if (outcome.kind === 'undone') throw new WebhookProblem(`it could not be registered: ${outcome.why}`);
    this.#fresh = false;
    return 0;
  }

  /** Stores the failure for `status`, where deliveries are wanted and no other error is stored. */
  async #noteFailure(why: string): Promise<void> {
    if (this.#wanted === undefined) return;
    const { store } = this.#options;
    const error = `the webhook can't be seen to: ${why}. Tried again within a quarter of an hour`;
    this.#noted = error;
    try {
      const { registration } = await store.load();
      if (registration.error === null) await store.save(() => ({ error }));
    } catch (failure) {
      if (failure instanceof LeaseLost) throw failure;
    }
  }

  async #load(): Promise<StoredRegistration> {
    const { store, hide, onChange, log, userId } = this.#options;
    const stored = await store.load();
    const { state, url, secret, error } = stored.registration;
    if (secret !== null) hide(secret);
    const news = { userId, state, host: url === null ? null : hostOf(url), error };
    const text = JSON.stringify(news);
    if (text !== this.#lastNews || this.#renewed || this.#mistrusted) {
      const [renewed, mistrusted] = [this.#renewed, this.#mistrusted];
      this.#lastNews = text;
      this.#renewed = false;
      this.#mistrusted = false;
      if (mistrusted)
        log.info(`account ${userId}: deliveries come that no secret explains: what changed is read`);
      else if (error !== null && error !== this.#noted) log.warn(`account ${userId}: ${error}`);
      else if (state === 'registered') log.info(`account ${userId}: events come to ${news.host}`);
      onChange({ ...news, renewed, mistrusted });
    }
    return stored;
  }

  #settings(): RegistrationSettings {
    const { takeover } = this.#options;
    return {
      wanted: this.#wanted,
      takeover,
      fresh: this.#fresh,
      lost: this.#lost,
      weighedAt: this.#weighedAt,
      countedAt: this.#countedAt,
      unannounced: this.#unannounced - this.#unannouncedAtLook,
    };
  }
}

/** Waits for `waitMs`, or until the bell rings. */
async function rungOrOver(
  { clock, bell }: RegistrarOptions,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    await Promise.race([clock.sleep(waitMs, either), bell.heard(either)]);
  } finally {
    over.abort();
  }
}
