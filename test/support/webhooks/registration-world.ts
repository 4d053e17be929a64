import { KeyRefused } from '../../../src/model/errors.ts';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Stopped } from '@research-mirror/runtime/service';
import { type RegistrarOptions, registrar } from '../../../src/webhooks/registration/registrar.ts';
import { sameUrl } from '../../../src/webhooks/registration/same-url.ts';
import { EmulatedWebhooks, type WebhookManners } from './emulated-webhooks.ts';
import { MemoryRegistrationStore } from './memory-registration-store.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

export const PUBLIC_URL = 'https://mirror.example.com';
export const OURS = `${PUBLIC_URL}/webhooks/1001`;
export const THEIRS = 'https://other.example.com/hooks';
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

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
  /** What went wrong against a rule that holds for each single request. */
  readonly broken: string[] = [];
  /** All that was logged, or given to observers. */
  readonly said: string[] = [];
  /** Of what was logged, the warnings. */
  readonly warned: string[] = [];
  readonly hidden = new Set<string>();
  readonly bell = new Doorbell();
  keyIsGood = true;
  /** Something changes each minute that the service announces. */
  changing = true;
  /** It does announce it. */
  delivering = true;
  /** Why deliveries do not get here, as tried from here. */
  astray: string | undefined;
  /** By what the registrar's loop ended. */
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
      bell: this.bell,
      whyAstray: () => Promise.resolve(this.astray),
      onChange: say,
    });
    run(signal).catch((error: unknown) => {
      if (!signal.aborted) this.ended = error;
    });
  }

  /** What is on the wire is answered yet. */
  stop(): void {
    this.#life.abort(new Stopped('the process'));
  }

  /** What is on the wire is never heard of. */
  kill(): void {
    this.#killed.abort(new Stopped('the process'));
    this.stop();
  }

  #serviceUntil(stopped: AbortSignal, killed: AbortSignal): RegistrarOptions['service'] {
    let refused = false;
    return {
      ask: async ({ method, body, claim, signal }) => {
        if (refused) throw new KeyRefused('every API key of the account is refused', 401);
        // A slot is waited for.
        await this.clock.sleep(5, stopped);
        if (claim !== undefined && !(await claim())) return undefined;
        this.#check(method);
        const answer = this.service.answer(method, body);
        await this.clock.sleep(100, AbortSignal.any([signal, killed]));
        return answer;
      },
      keyIsGood: async () => {
        refused = !this.keyIsGood;
        return this.keyIsGood;
      },
      said: (text) => (JSON.parse(text) as { message: string }).message,
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
      !store.ownUrls.some(({ url }) => sameUrl(url, webhook.url)) &&
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
