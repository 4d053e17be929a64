import { KeyRefused, TransportError } from '../../../src/model/errors.ts';
import { type Registration, type Seen, MISMATCHES } from '../../../src/events/registration.ts';
import type { RegistrationStore } from '../../../src/events/webhook-store.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import { REPLACED_MS } from '../../../src/events/judge.ts';
import { type RegistrarOptions, registrar } from '../../../src/events/registrar.ts';
import { sameUrl } from '../../../src/events/decisions.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

export const PUBLIC_URL = 'https://mirror.example.com';
export const OURS = `${PUBLIC_URL}/webhooks/1001`;
export const THEIRS = 'https://other.example.com/hooks';
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export const UNREGISTERED: Registration = {
  state: 'none',
  url: null,
  secret: null,
  registeringAt: null,
  registeredAt: null,
  checkedAt: null,
  replacedAt: [],
  verifiedAt: null,
  mismatches: 0,
  error: null,
  ownUrls: [],
  onHold: false,
  now: new Date(0),
};

const PLAIN_MANNERS: WebhookManners = {
  none: { status: 200, text: 'null' },
  spell: (url) => url,
  types: null,
  lateMs: 0,
};

export type Takeover = 'never' | 'if-empty' | 'always';

/** A daemon with one account and the service's webhook endpoints, in virtual time. */
export class RegistrationWorld {
  readonly clock = new VirtualClock();
  readonly store = new MemoryRegistrationStore(this.clock);
  readonly service: EmulatedWebhooks;
  readonly takeover: Takeover;
  publicUrl: string | undefined = PUBLIC_URL;
  /** Requests that broke a rule which holds for each request. */
  readonly broken: string[] = [];
  /** All that was logged. */
  readonly said: string[] = [];
  /** The warnings among it. */
  readonly warned: string[] = [];
  readonly hidden = new Set<string>();
  /** Polls of the account that were asked for: one a registration. */
  renewals = 0;
  keyIsGood = true;
  /** Something changes each minute. */
  changing = true;
  /** The service announces these changes. */
  delivering = true;
  /** Why deliveries do not get here, as tried from here. */
  astray: string | undefined;
  /** The error that ended the registrar's loop. */
  ended: unknown;
  #life = new AbortController();
  #killed = new AbortController();

  constructor(manners: WebhookManners = PLAIN_MANNERS, takeover: Takeover = 'if-empty') {
    this.service = new EmulatedWebhooks(this.clock, manners);
    this.takeover = takeover;
    this.start();
    const deliver = (): void => {
      const { webhook } = this.service;
      if (this.changing) {
        const delivered = this.delivering && webhook?.active === true && sameUrl(webhook.url, OURS);
        const announced = delivered && this.store.deliver(webhook.secret);
        this.store.changes.push({ at: new Date(this.clock.now()), announced });
      }
      this.clock.after(MINUTE, deliver);
    };
    this.clock.after(MINUTE / 2, deliver);
  }

  start(): void {
    this.#life = new AbortController();
    this.#killed = new AbortController();
    const { signal } = this.#life;
    const say = (line: unknown): void => void this.said.push(JSON.stringify(line));
    const run = registrar({
      userId: '1001',
      publicUrl: this.publicUrl,
      takeover: this.takeover,
      service: this.#serviceUntil(signal, this.#killed.signal),
      store: this.store,
      clock: this.clock,
      log: {
        info: say,
        debug: say,
        warn: (line: unknown) => {
          say(line);
          this.warned.push(String(line));
        },
      },
      hide: (secret) => this.hidden.add(secret),
      whyAstray: () => Promise.resolve(this.astray),
      onRegistered: () => void (this.renewals += 1),
    });
    run(signal).catch((error: unknown) => {
      if (!signal.aborted) this.ended = error;
    });
  }

  /** Requests on the wire are still answered. */
  stop(): void {
    this.#life.abort(new Stopped('the process'));
  }

  /** Requests on the wire get no answer. */
  kill(): void {
    this.#killed.abort(new Stopped('the process'));
    this.stop();
  }

  #serviceUntil(stopped: AbortSignal, killed: AbortSignal): RegistrarOptions['service'] {
    let refused = false;
    return async ({ method, body, claim }) => {
      if (refused) throw new KeyRefused('every API key of the account is refused', 401);
      // A slot is waited for.
      await this.clock.sleep(5, stopped);
      if (claim !== undefined && !(await claim())) return undefined;
      this.#check(method);
      const answer = this.service.answer(method, body);
      await this.clock.sleep(100, killed);
      refused = answer.status === 403 && !this.keyIsGood;
      if (refused) throw new TransportError('the API key is refused', { sent: false });
      const { message = '' } = answer.status < 400 ? {} : (JSON.parse(answer.text) as { message?: string });
      return { ...answer, words: message };
    };
  }

  /** The service's webhook is ours, and its deliveries can be verified. */
  isRegistered(): boolean {
    const { webhook } = this.service;
    const { registration } = this.store;
    return (
      webhook !== undefined &&
      webhook.active &&
      sameUrl(webhook.url, OURS) &&
      webhook.secret === registration.secret &&
      registration.state === 'registered'
    );
  }

  #check(method: string): void {
    const { webhook } = this.service;
    const { store } = this;
    if (method === 'GET') return;
    if (store.onHold) this.broken.push(`${method} while held`);
    const foreign =
      webhook !== undefined &&
      webhook.active &&
      !store.registration.ownUrls.some((url) => sameUrl(url, webhook.url)) &&
      !sameUrl(webhook.url, OURS);
    if (method === 'DELETE' && foreign) this.broken.push('DELETE of somebody else’s');
    if (method !== 'POST') return;
    if (store.registration.state !== 'registering') this.broken.push('POST without a commit before it');
    if (foreign && this.takeover !== 'always') this.broken.push('POST over somebody else’s');
    const last = this.service.log.findLast((request) => request.method === 'POST');
    if (last !== undefined && this.clock.monotonic() - last.at < MINUTE - 1_000) {
      this.broken.push('two POSTs within a minute');
    }
  }
}

/** How a service may show what the specification does not (docs/design/open-questions.md, "Webhooks"). */
export interface WebhookManners {
  /** What GET answers where none is registered. */
  readonly none: { readonly status: number; readonly text: string };
  /** How the registered URL comes back. */
  readonly spell: (url: string) => string;
  /** How the registered types come back. */
  readonly types: readonly string[] | null;
  /** Milliseconds from an accepted registration until it shows and is in force. */
  readonly lateMs: number;
}

/** What happens to a request that registers. */
export type RegisterFault =
  | 'none'
  | 'lost-done'
  | 'lost-undone'
  | 'not-sent'
  | 'no-secret'
  | 'garbage'
  | 400
  | 402
  | 403
  | 404
  | 405
  | 429
  | 500;

interface Registered {
  readonly url: string;
  readonly secret: string;
  active: boolean;
  readonly types: readonly string[] | null;
}

/** The service's webhook endpoints for one account, in memory. */
class EmulatedWebhooks {
  webhook: Registered | undefined;
  readonly manners: WebhookManners;
  /** The next requests that register, the first first; then none is met by a fault. */
  faults: RegisterFault[] = [];
  /** The next GETs get these statuses. */
  getFaults: number[] = [];
  /** What was asked, with moments on the monotonic clock. */
  readonly log: { readonly method: string; readonly at: number; readonly body: string | undefined }[] = [];
  readonly #clock: VirtualClock;
  #secrets = 0;

  constructor(clock: VirtualClock, manners: WebhookManners) {
    this.#clock = clock;
    this.manners = manners;
  }

  count(method: string): number {
    return this.log.filter((request) => request.method === method).length;
  }

  /** Another program registers. */
  intrude(url: string): void {
    this.webhook = this.#make(url, null);
  }

  /** The service replaces the secret without telling. */
  rotate(): void {
    if (this.webhook !== undefined) this.webhook = { ...this.webhook, secret: this.#newSecret() };
  }

  /** @throws TransportError */
  answer(method: 'GET' | 'POST' | 'DELETE', body: string | undefined): { status: number; text: string } {
    const fault = method === 'POST' ? (this.faults.shift() ?? 'none') : 'none';
    // Refused by the rate limit, nothing has happened either.
    if (fault === 429) return { status: 429, text: '{"message":"too many"}' };
    if (fault === 'not-sent') throw new TransportError('refused', { sent: false });
    this.log.push({ method, at: this.#clock.monotonic(), body });
    if (method === 'GET') return this.#shown();
    if (method === 'DELETE') {
      this.webhook = undefined;
      return { status: 204, text: '' };
    }
    return this.#register(body ?? '', fault);
  }

  #shown(): { status: number; text: string } {
    const status = this.getFaults.shift();
    if (status !== undefined) return { status, text: '{"message":"not now"}' };
    if (this.webhook === undefined) return this.manners.none;
    return { status: 200, text: JSON.stringify(this.#object(this.webhook)) };
  }

  #register(body: string, fault: Exclude<RegisterFault, 'not-sent' | 429>): { status: number; text: string } {
    if (typeof fault === 'number') return { status: fault, text: '{"message":"no"}' };
    if (fault === 'lost-undone') throw new TransportError('reset');
    const { url } = JSON.parse(body) as { url: string };
    const made = this.#make(url, this.manners.types);
    const { lateMs } = this.manners;
    if (lateMs === 0) this.webhook = made;
    else this.#clock.after(lateMs, () => (this.webhook = made));
    if (fault === 'lost-done') throw new TransportError('reset');
    if (fault === 'garbage') return { status: 200, text: '<html>' };
    const secret = fault === 'no-secret' ? {} : { secret: made.secret };
    return { status: 200, text: JSON.stringify({ ...this.#object(made), ...secret }) };
  }

  #make(url: string, types: readonly string[] | null): Registered {
    return { url, secret: this.#newSecret(), active: true, types };
  }

  #newSecret(): string {
    this.#secrets += 1;
    return `secret-${this.#secrets}`;
  }

  #object({ url, active, types }: Registered): object {
    return { object: 'webhook', url: this.manners.spell(url), active, event_types: types };
  }
}

/** A registration in memory, as events/webhook-store.ts keeps it and receivers write to it. */
class MemoryRegistrationStore implements RegistrationStore {
  registration: Registration = UNREGISTERED;
  onHold = false;
  /** The row of the table `webhook`. */
  row: Seen = 'none';
  previousSecret: string | null = null;
  /** Changes at the service, and whether a verified delivery announced them; our own reading found them all. */
  readonly changes: { readonly at: Date; readonly announced: boolean }[] = [];
  /** Thrown by the next transaction. */
  failNext: Error | undefined;
  readonly #clock: Clock;
  #secretAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async load(): Promise<Registration> {
    return { ...this.registration, onHold: this.onHold, now: this.#now() };
  }

  async save(...[change, seen]: Parameters<RegistrationStore['save']>): Promise<void> {
    const { failNext } = this;
    this.failNext = undefined;
    if (failNext !== undefined) throw failNext;
    const now = this.#now();
    const changed = change(now);
    const { secret } = this.registration;
    if (changed.secret !== undefined && changed.secret !== secret) {
      this.previousSecret = secret;
      this.#secretAt = now.getTime();
    }
    this.registration = { ...this.registration, ...changed };
    if (seen !== undefined) this.row = seen;
  }

  async unannounced(since: Date, until: Date): Promise<number> {
    return this.changes.filter(({ at, announced }) => !announced && at > since && at <= until).length;
  }

  /** A delivery signed with `secret`, as a receiver judges it. @returns whether it was verified */
  deliver(secret: string): boolean {
    const { registration } = this;
    if (secret === registration.secret) {
      this.registration = { ...registration, verifiedAt: this.#now(), mismatches: 0 };
      return true;
    }
    if (secret === this.previousSecret) return true;
    if (registration.secret === null || this.#now().getTime() - this.#secretAt < REPLACED_MS) return false;
    const mismatches = Math.min(MISMATCHES, registration.mismatches + 1);
    this.registration = { ...registration, mismatches };
    return false;
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }
}
