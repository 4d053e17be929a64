import { createHash } from 'node:crypto';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { EVENT_TYPES, isEventType } from '../events/event-types.ts';
import { failure, json, noContent, type Answer } from './answer.ts';

export interface Webhook {
  readonly url: string;
  /** Hexadecimal. */
  readonly secret: string;
  readonly eventTypes: readonly string[] | null;
}

/** What changes a registration. */
export type WebhookCall =
  | {
      readonly call: 'register';
      readonly url: string;
      readonly eventTypes: readonly string[] | null;
      readonly secret: 'new' | 'same';
    }
  | { readonly call: 'rotate' | 'remove' };

/** The webhook registration of a user (specification 4.2). A change may take effect late. */
export class Registration {
  /** Secrets are derived from it. */
  readonly #seed: string;
  readonly #note: (call: WebhookCall) => void;
  #secrets = 0;
  #lastSecret: string | undefined;
  #present: Webhook | undefined;
  /** Registrations that were answered and are not in force yet, in order. */
  #coming: { readonly webhook: Webhook; readonly from: number }[] = [];

  /** @param note called for each change */
  constructor(seed: string, note: (call: WebhookCall) => void = () => {}) {
    this.#seed = seed;
    this.#note = note;
  }

  /**
   * The registration in force; undefined while there is none.
   * @param now milliseconds of the monotonic clock
   */
  at(now: number): Webhook | undefined {
    while (this.#coming[0] !== undefined && this.#coming[0].from <= now) this.#present = this.#coming.shift()?.webhook;
    return this.#present;
  }

  /**
   * @param which a new secret or the last one
   * @param from when it is in force: monotonic clock
   */
  register(url: string, eventTypes: readonly string[] | null, which: 'new' | 'same', from: number): Webhook {
    const secret = which === 'same' ? (this.#lastSecret ?? this.#newSecret()) : this.#newSecret();
    const webhook = { url, secret, eventTypes };
    this.#note({ call: 'register', url, eventTypes, secret: which });
    this.#coming.push({ webhook, from: Math.max(from, this.#coming.at(-1)?.from ?? 0) });
    return webhook;
  }

  /** Replaces the secret of the registration in force. @returns false where there is none */
  rotate(now: number): boolean {
    const present = this.at(now);
    if (present === undefined) return false;
    this.#present = { ...present, secret: this.#newSecret() };
    this.#note({ call: 'rotate' });
    return true;
  }

  remove(): void {
    this.#present = undefined;
    this.#coming = [];
    this.#note({ call: 'remove' });
  }

  /** Changes it as it was changed before: with the same secrets, and in force at once. */
  repeat(change: WebhookCall): void {
    if (change.call === 'register') this.register(change.url, change.eventTypes, change.secret, -Infinity);
    else if (change.call === 'rotate') this.rotate(-Infinity);
    else this.remove();
  }

  #newSecret(): string {
    this.#secrets += 1;
    this.#lastSecret = createHash('sha256').update(`${this.#seed}/${this.#secrets}`).digest('hex');
    return this.#lastSecret;
  }
}

/**
 * `POST /v1/webhooks/register`: registers a URL or replaces the present one.
 * @param now milliseconds of the monotonic clock
 */
export function registerWebhook(
  registration: Registration,
  body: unknown,
  options: SandboxOptions,
  now: number,
): Answer {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const { url, event_types: types = null } = fields;
  if (typeof url !== 'string' || !isHttpUrl(url)) {
    return failure(400, 'invalid_url', 'url must be an http or https URL', options.errorBody);
  }
  if (types !== null && !(Array.isArray(types) && types.every(isEventType))) {
    return failure(
      400,
      'invalid_event_types',
      `event_types must be null or a list of ${EVENT_TYPES.join(', ')}`,
      options.errorBody,
    );
  }
  const secret = options.registerSecret === 'same' ? 'same' : 'new';
  const webhook = registration.register(url, types, secret, now + options.registerLate);
  return json(200, webhookText(webhook, options.registerSecret !== 'missing', options));
}

/** `GET /v1/webhooks`, without the secret. The specification does not show the answer when none is registered. */
export function readWebhook(webhook: Webhook | undefined, options: SandboxOptions): Answer {
  if (webhook !== undefined) return json(200, webhookText(webhook, false, options));
  const answers: Readonly<Record<SandboxOptions['noWebhook'], Answer>> = {
    null: json(200, 'null'),
    object: json(200, '{}'),
    '404': failure(404, 'not_found', 'No webhook is registered', options.errorBody),
    '204': noContent(),
    'empty-list': json(200, '{"object":"list","data":[],"has_more":false}'),
  };
  return answers[options.noWebhook];
}

/** `DELETE /v1/webhooks`. */
export function deleteWebhook(registration: Registration): Answer {
  registration.remove();
  return noContent();
}

function webhookText(webhook: Webhook, withSecret: boolean, options: SandboxOptions): string {
  const url = options.webhookUrl === 'slash' && !webhook.url.endsWith('/') ? `${webhook.url}/` : webhook.url;
  return JSON.stringify({
    object: 'webhook',
    url,
    ...(withSecret ? { secret: webhook.secret } : {}),
    active: true,
    event_types: webhook.eventTypes,
  });
}

export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
