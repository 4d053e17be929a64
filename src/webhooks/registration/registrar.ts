import { KeyRefused, LeaseLost, ServiceDown } from '../../model/errors.ts';
import {
  type Registration,
  type RegistrationStore,
  type Seen,
  UNANNOUNCED,
} from '../../model/webhook/registration.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import {
  afterRequest,
  judge,
  lookAt,
  type RegistrationSettings,
  RETRY_MS,
  settledBy,
  silence,
} from './decisions.ts';
import { goAstray, hostOf, nothingArrives, saysAstray } from './remedies.ts';
import { askWhatIsRegistered, register, remove, type WebhookService } from './service-calls.ts';

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
  /** Why deliveries do not get to our listener, with the remedy; undefined: they do, or there is none. */
  readonly whyAstray: () => Promise<string | undefined>;
  /** It has just been registered: no event announced earlier changes, and only a reading finds them. */
  readonly onRegistered: (userId: string) => void;
}

/** How often (ms) what receivers and polls have stored is read. */
const STORED_MS = 60_000;
/** Wait (ms) after a failure; doubled for each further one, up to `RETRY_MS`. */
const FIRST_RETRY_MS = 60_000;

/**
 * Keeps one account's webhook registered as configured (docs/design/events.md, "Registration"), while this process
 * owns the account. The loop ends only by throwing: KeyRefused where no key is good, LeaseLost, the signal's reason.
 */
export function registrar(options: RegistrarOptions): (signal: AbortSignal) => Promise<never> {
  return async (signal) => {
    const run = new Registrar(options);
    for (;;) {
      signal.throwIfAborted();
      const waitMs = await run.once(signal);
      if (waitMs > 0) await options.clock.sleep(waitMs, signal);
    }
  };
}

class Registrar {
  readonly #options: RegistrarOptions;
  readonly #wanted: string | undefined;
  #fresh = true;
  #failures = 0;
  #unannounced = 0;
  /** What was logged last. */
  #told = '';

  constructor(options: RegistrarOptions) {
    this.#options = options;
    this.#wanted =
      options.publicUrl === undefined ? undefined : `${options.publicUrl}/webhooks/${options.userId}`;
  }

  /** One step. @returns milliseconds until the next one is due */
  async once(signal: AbortSignal): Promise<number> {
    try {
      return await this.#step(signal);
    } catch (error) {
      if (signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused) throw error;
      this.#options.log.debug(`account ${this.#options.userId}: webhook: ${messageOf(error)}`);
      // That the service or the database is down is logged once for all (src/app/process/process.ts).
      const isDown = error instanceof ServiceDown || error instanceof DatabaseUnavailable;
      if (!isDown && this.#wanted !== undefined) await this.#noteFailure(messageOf(error));
      return this.#retryMs();
    }
  }

  async #step(signal: AbortSignal): Promise<number> {
    const { store, whyAstray } = this.#options;
    const it = await this.#load();
    if (this.#wanted !== undefined) {
      const isBack = saysAstray(it.error) && (await whyAstray()) === undefined;
      const change = settledBy(it) ?? (isBack ? { error: null } : undefined);
      if (change !== undefined) {
        await store.save(() => change);
        return 0;
      }
      const span = silence(it);
      this.#unannounced = span === undefined ? 0 : await store.unannounced(span.since, span.until);
    }
    const waitMs = lookAt(it, this.#settings()).getTime() - it.now.getTime();
    if (waitMs <= 0) return this.#look(signal);
    return this.#wanted === undefined ? waitMs : Math.min(waitMs, STORED_MS);
  }

  async #look(signal: AbortSignal): Promise<number> {
    const { service, store } = this.#options;
    const seen = await askWhatIsRegistered(service, signal);
    const before = await this.#load();
    const { kind, change, why } = judge(before, seen, this.#settings());
    if (kind === 'register') return this.#register(seen, before, why, signal);
    if (kind === 'remove') {
      if (!(await remove(service, () => this.#claim('remove', seen), signal))) return 0;
      await store.save((now) => ({ state: 'none', error: null, checkedAt: now }), 'none');
    } else {
      const error = change.state === 'registered' ? { error: await this.#whyNothingComes(before) } : {};
      await store.save((now) => ({ ...change, ...error, checkedAt: now }), seen);
    }
    this.#fresh = false;
    this.#failures = 0;
    return 0;
  }

  /** Decides again right before the request: what is stored may have changed while it waited for its slot. */
  async #claim(kind: 'register' | 'remove', seen: Seen): Promise<boolean> {
    const verdict = judge(await this.#load(), seen, this.#settings());
    if (verdict.kind !== kind) return false;
    // Committed before the request is written: after a crash its successor knows that it may be under way.
    await this.#options.store.save((now) => ({ ...verdict.change, checkedAt: now }), seen);
    return true;
  }

  async #register(
    seen: Seen,
    before: Registration,
    why: string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    const { userId, service, store, log, hide, onRegistered } = this.#options;
    const url = this.#wanted ?? '';
    const outcome = await register(service, url, () => this.#claim('register', seen), signal);
    if (outcome === undefined) return 0;
    const accepted = outcome.kind === 'accepted';
    if (accepted) {
      if (why !== undefined) log.warn(`account ${userId}: ${why}`);
      if (outcome.secret !== undefined) hide(outcome.secret);
    }
    await store.save((now) => afterRequest(outcome, url, before, now), accepted ? outcome.seen : undefined);
    if (outcome.kind === 'undone') throw new Error(`it could not be registered: ${outcome.why}`);
    this.#fresh = false;
    if (outcome.kind === 'lost') return this.#retryMs();
    this.#failures = 0;
    if (accepted) {
      this.#unannounced = 0;
      onRegistered(userId);
      const it = await this.#load();
      const error = it.state === 'registered' ? await this.#whyNothingComes(it) : null;
      if (error !== null) await store.save(() => ({ error }));
    }
    return 0;
  }

  /**
   * What is wrong with the way of deliveries, as seen from here; null: nothing is known. Where a delivery came, and
   * what changes is announced, the service has a way, whatever this machine sees.
   */
  async #whyNothingComes({ verifiedAt, registeredAt }: Registration): Promise<string | null> {
    const silent = this.#unannounced >= UNANNOUNCED;
    const heard = verifiedAt !== null && registeredAt !== null && verifiedAt > registeredAt;
    if (heard && !silent) return null;
    const why = await this.#options.whyAstray();
    if (why !== undefined) return goAstray(why);
    return silent ? nothingArrives(this.#unannounced) : null;
  }

  #retryMs(): number {
    const waitMs = Math.min(RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
    this.#failures += 1;
    return waitMs;
  }

  /** Stores the failure for `status`, where no other error is stored. */
  async #noteFailure(why: string): Promise<void> {
    const { store } = this.#options;
    const error = `the webhook can't be seen to: ${why}. Tried again within a quarter of an hour`;
    try {
      if ((await store.load()).error === null) await store.save(() => ({ error }));
      await this.#load();
    } catch (failure) {
      if (failure instanceof LeaseLost) throw failure;
    }
  }

  /** What is stored; the log has each change of it. */
  async #load(): Promise<Registration> {
    const { store, hide, log, userId } = this.#options;
    const it = await store.load();
    if (it.secret !== null) hide(it.secret);
    const host = it.url === null ? '' : hostOf(it.url);
    const told = JSON.stringify([it.state, host, it.error]);
    if (told === this.#told) return it;
    this.#told = told;
    if (it.error !== null) log.warn(`account ${userId}: ${it.error}`);
    else if (it.state === 'registered') log.info(`account ${userId}: events come to ${host}`);
    return it;
  }

  #settings(): RegistrationSettings {
    const { takeover } = this.#options;
    return { wanted: this.#wanted, takeover, fresh: this.#fresh, unannounced: this.#unannounced };
  }
}
