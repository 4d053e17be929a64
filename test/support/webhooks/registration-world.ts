import { Stopped } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { sameUrl } from '../../../src/events/decisions.ts';
import { REPLACED_MS } from '../../../src/events/judge.ts';
import { type RegistrarOptions, registrar } from '../../../src/events/registrar.ts';
import { type Registration, type Seen, MISMATCHES } from '../../../src/events/registration.ts';
import { KeyRefused, TransportError } from '../../../src/model/errors.ts';

const PUBLIC_URL = 'https://mirror.example.com';
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

export type Takeover = RegistrarOptions['takeover'];

/** How a service may show what the specification does not (docs/design/open-questions.md, "Webhooks"). */
export interface WebhookManners {
  /** How the registered URL comes back. */
  readonly spell: (url: string) => string;
  /** Milliseconds from an accepted registration until it shows and is in force. */
  readonly lateMs: number;
}

/** A daemon with one account and the service's webhook endpoints, in virtual time. */
export class RegistrationWorld {
  readonly clock = new VirtualClock();
  readonly store = memoryStore(this.clock);
  readonly service: ReturnType<typeof emulatedWebhooks>;
  readonly takeover: Takeover;
  publicUrl: string | undefined = PUBLIC_URL;
  /** Requests that broke a rule which holds for each request. */
  readonly broken: string[] = [];
  /** All that was logged, and the warnings among it. */
  readonly said: string[] = [];
  readonly warned: string[] = [];
  readonly hidden = new Set<string>();
  /** Polls of the account that were asked for: one a registration. */
  renewals = 0;
  keyIsGood = true;
  /** Something changes each minute, and the service announces these changes. */
  changing = true;
  delivering = true;
  /** Why deliveries do not get here, as tried from here. */
  astray: string | undefined;
  /** The error that ended the registrar's loop. */
  ended: unknown;
  #life = new AbortController();
  #killed = new AbortController();

  constructor(manners: WebhookManners = { spell: (url) => url, lateMs: 0 }, takeover: Takeover = 'if-empty') {
    this.service = emulatedWebhooks(this.clock, manners);
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
    const warn = (line: unknown): void => {
      say(line);
      this.warned.push(String(line));
    };
    const run = registrar({
      userId: '1001',
      publicUrl: this.publicUrl,
      takeover: this.takeover,
      service: this.#serviceUntil(signal, this.#killed.signal),
      store: this.store,
      clock: this.clock,
      log: { info: say, debug: say, warn },
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
      if (method === 'POST') this.#checkRegistration();
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
    const { secret, state } = this.store.registration;
    return (
      webhook?.active === true && sameUrl(webhook.url, OURS) && webhook.secret === secret && state === 'registered'
    );
  }

  #checkRegistration(): void {
    const { store, broken } = this;
    const { webhook, log } = this.service;
    if (store.onHold) broken.push('POST while held');
    if (store.registration.state !== 'registering') broken.push('POST without a commit before it');
    const ours = [...store.registration.ownUrls, OURS];
    const foreign = webhook?.active === true && !ours.some((url) => sameUrl(url, webhook.url));
    if (foreign && this.takeover !== 'always') broken.push('POST over somebody else’s');
    const last = log.findLast((request) => request.method === 'POST')?.at ?? -HOUR;
    if (this.clock.monotonic() - last < MINUTE - 1_000) broken.push('two POSTs within a minute');
  }
}

/** What happens to a request that registers; a number is the status of a refusal. */
export type RegisterFault =
  | ('none' | 'lost-done' | 'lost-undone' | 'not-sent' | 'no-secret' | 'garbage')
  | (400 | 402 | 403 | 404 | 405 | 429 | 500);

/** The service's webhook endpoints for one account, in memory. */
function emulatedWebhooks(clock: VirtualClock, { spell, lateMs }: WebhookManners) {
  let secrets = 0;
  const registered = (url: string) => ({ url, secret: `secret-${(secrets += 1)}`, active: true });
  type Registered = ReturnType<typeof registered>;
  const shown = ({ url, active }: Registered) => ({ object: 'webhook', url: spell(url), active });
  const register = (body: string, fault: RegisterFault) => {
    if (typeof fault === 'number') return { status: fault, text: '{"message":"no"}' };
    if (fault === 'lost-undone') throw new TransportError('reset');
    const made = registered((JSON.parse(body) as { url: string }).url);
    if (lateMs === 0) service.webhook = made;
    else clock.after(lateMs, () => (service.webhook = made));
    if (fault === 'lost-done') throw new TransportError('reset');
    if (fault === 'garbage') return { status: 200, text: '<html>' };
    const secret = fault === 'no-secret' ? {} : { secret: made.secret };
    return { status: 200, text: JSON.stringify({ ...shown(made), ...secret }) };
  };
  const service = {
    webhook: undefined as Registered | undefined,
    /** The next requests that register, the first first; then none is met by a fault. */
    faults: [] as RegisterFault[],
    /** The next GETs get these statuses. */
    getFaults: [] as number[],
    /** What was asked, with moments on the monotonic clock. */
    log: [] as { readonly method: string; readonly at: number; readonly body: string | undefined }[],
    count: (method: string) => service.log.filter((request) => request.method === method).length,
    /** Another program registers. */
    intrude: (url: string) => void (service.webhook = registered(url)),
    /** The service replaces the secret without telling. */
    rotate(): void {
      const { webhook } = service;
      if (webhook !== undefined) service.webhook = { ...registered(webhook.url), active: webhook.active };
    },
    /** @throws TransportError */
    answer(method: 'GET' | 'POST', body = ''): { status: number; text: string } {
      const fault = method === 'POST' ? (service.faults.shift() ?? 'none') : 'none';
      // Refused by the rate limit, nothing has happened either.
      if (fault === 429) return { status: 429, text: '{"message":"too many"}' };
      if (fault === 'not-sent') throw new TransportError('refused', { sent: false });
      service.log.push({ method, at: clock.monotonic(), body });
      if (method === 'POST') return register(body, fault);
      const status = service.getFaults.shift();
      if (status !== undefined) return { status, text: '{"message":"not now"}' };
      const { webhook } = service;
      return { status: 200, text: webhook === undefined ? 'null' : JSON.stringify(shown(webhook)) };
    },
  };
  return service;
}

/** A registration in memory, as events/webhook-store.ts keeps it and receivers write to it. */
function memoryStore(clock: VirtualClock) {
  let previousSecret: string | null = null;
  let secretAt = 0;
  const store = {
    registration: UNREGISTERED,
    onHold: false,
    /** The row of the table `webhook`. */
    row: 'none' as Seen,
    /** Changes at the service, and whether a verified delivery announced them; our own reading found them all. */
    changes: [] as { readonly at: Date; readonly announced: boolean }[],
    /** Thrown by the next transaction. */
    failNext: undefined as Error | undefined,
    async load(): Promise<Registration> {
      return { ...store.registration, onHold: store.onHold, now: new Date(clock.now()) };
    },
    async save(...[change, seen]: Parameters<RegistrarOptions['store']['save']>): Promise<void> {
      const { failNext, registration } = store;
      store.failNext = undefined;
      if (failNext !== undefined) throw failNext;
      const changed = change(new Date(clock.now()));
      if (changed.secret !== undefined && changed.secret !== registration.secret) {
        previousSecret = registration.secret;
        secretAt = clock.now();
      }
      store.registration = { ...registration, ...changed };
      if (seen !== undefined) store.row = seen;
    },
    async unannounced(since: Date, until: Date): Promise<number> {
      return store.changes.filter(({ at, announced }) => !announced && at > since && at <= until).length;
    },
    /** A delivery signed with `secret`, as a receiver judges it. @returns whether it was verified */
    deliver(secret: string): boolean {
      const { registration } = store;
      if (secret === registration.secret) {
        store.registration = { ...registration, verifiedAt: new Date(clock.now()), mismatches: 0 };
        return true;
      }
      if (secret === previousSecret) return true;
      if (registration.secret === null || clock.now() - secretAt < REPLACED_MS) return false;
      const mismatches = Math.min(MISMATCHES, registration.mismatches + 1);
      store.registration = { ...registration, mismatches };
      return false;
    },
  };
  return store;
}
