import { KeyRefused, LeaseLost, ServiceDown } from '../model/errors.ts';
import {
  type Registration,
  type RegistrationChange,
  type RegistrationStore,
  type Seen,
  UNANNOUNCED,
} from './registration.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import {
  afterRequest,
  goAstray,
  hostOf,
  judge,
  lookAt,
  nothingArrives,
  type RegistrationSettings,
  settledBy,
  silence,
} from './decisions.ts';
import { askWhatIsRegistered, register, type WebhookService } from './service-calls.ts';

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

/** How often (ms) what receivers and polls have stored is read; the wait after a failure, too. */
const STORED_MS = 60_000;

/**
 * Keeps one account's webhook registered as configured (docs/design/events.md, "Registration"), while this process
 * owns the account. The loop ends only by throwing: KeyRefused where no key is good, LeaseLost, the signal's reason.
 */
export function registrar(options: RegistrarOptions): (signal: AbortSignal) => Promise<never> {
  return (signal) => new Registrar(options, signal).run();
}

class Registrar {
  readonly #options: RegistrarOptions;
  readonly #signal: AbortSignal;
  readonly #wanted: string | undefined;
  #fresh = true;
  #unannounced = 0;
  /** What was logged last. */
  #told = '';

  constructor(options: RegistrarOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#wanted =
      options.publicUrl === undefined ? undefined : `${options.publicUrl}/webhooks/${options.userId}`;
  }

  async run(): Promise<never> {
    for (;;) {
      this.#signal.throwIfAborted();
      const waitMs = await this.#step().catch((error: unknown) => this.#failed(error));
      if (waitMs > 0) await this.#options.clock.sleep(waitMs, this.#signal);
    }
  }

  /** @returns milliseconds until the next step is due */
  async #step(): Promise<number> {
    const { store } = this.#options;
    const it = await this.#load();
    if (this.#wanted !== undefined) {
      const change = settledBy(it);
      if (change !== undefined) {
        await store.save(() => change);
        return 0;
      }
      const span = silence(it);
      this.#unannounced = span === undefined ? 0 : await store.unannounced(span.since, span.until);
    }
    const waitMs = lookAt(it, this.#settings()).getTime() - it.now.getTime();
    if (waitMs > 0) return this.#wanted === undefined ? waitMs : Math.min(waitMs, STORED_MS);
    await this.#look();
    return 0;
  }

  async #look(): Promise<void> {
    const { service, store } = this.#options;
    const seen = await askWhatIsRegistered(service, this.#signal);
    const before = await this.#load();
    const { kind, change, why } = judge(before, seen, this.#settings());
    if (kind === 'register') return this.#register(seen, before, why);
    const error = change.state === 'registered' ? { error: await this.#whyNothingComes(before) } : {};
    await store.save((now) => ({ ...change, ...error, checkedAt: now }), seen);
    this.#fresh = false;
  }

  async #register(seen: Seen, before: Registration, why: string | undefined): Promise<void> {
    const { userId, service, store, log, hide, onRegistered, whyAstray } = this.#options;
    const url = this.#wanted ?? '';
    // Asked before: the new secret is stored as soon as it comes.
    const astray = await whyAstray();
    const outcome = await register(service, url, () => this.#claim(seen), this.#signal);
    if (outcome === undefined) return;
    const change = (now: Date): RegistrationChange => afterRequest(outcome, url, before.state, now);
    if (outcome.kind === 'accepted') {
      if (why !== undefined) log.warn(`account ${userId}: ${why}`);
      hide(outcome.secret);
      const error = astray === undefined ? null : goAstray(astray);
      await store.save((now) => ({ ...change(now), error }), outcome.seen);
      onRegistered(userId);
    } else await store.save(change);
    this.#fresh = false;
  }

  /** Decides again right before the request: what is stored may have changed while it waited for its slot. */
  async #claim(seen: Seen): Promise<boolean> {
    const { kind, change } = judge(await this.#load(), seen, this.#settings());
    if (kind !== 'register') return false;
    // Committed before the request is written: after a crash its successor knows that it may be under way.
    await this.#options.store.save((now) => ({ ...change, checkedAt: now }), seen);
    return true;
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

  /** Stores the failure for `status`, where no other error is stored. @returns the wait, milliseconds */
  async #failed(error: unknown): Promise<number> {
    if (this.#signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused) throw error;
    const { store, log, userId } = this.#options;
    const message = messageOf(error);
    log.debug(`account ${userId}: webhook: ${message}`);
    // That the service or the database is down is logged once for all (src/account/process.ts).
    if (error instanceof ServiceDown || error instanceof DatabaseUnavailable) return STORED_MS;
    const told = `the webhook can't be seen to: ${message}. Tried again each minute`;
    try {
      const it = await this.#load();
      if (this.#wanted !== undefined && it.error === null) await store.save(() => ({ error: told }));
    } catch (failure) {
      if (failure instanceof LeaseLost) throw failure;
    }
    return STORED_MS;
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
