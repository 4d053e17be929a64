import { TransportError } from '../../../src/model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';

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
export class EmulatedWebhooks {
  webhook: Registered | undefined;
  readonly manners: WebhookManners;
  /** The next requests that register, the first first; then none is met by a fault. */
  faults: RegisterFault[] = [];
  /** The next GETs get these statuses. */
  getFaults: number[] = [];
  /** What was asked, with moments on the monotonic clock. */
  readonly log: { readonly method: string; readonly at: number; readonly body: string | undefined }[] = [];
  readonly #clock: Clock & { after(ms: number, action: () => void): void };
  #secrets = 0;

  constructor(clock: Clock & { after(ms: number, action: () => void): void }, manners: WebhookManners) {
    this.#clock = clock;
    this.manners = manners;
  }

  count(method: string): number {
    return this.log.filter((request) => request.method === method).length;
  }

  /** Somebody else registers. */
  intrude(url: string): void {
    this.webhook = this.#make(url, null);
  }

  /** The secret is replaced without a word. */
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
