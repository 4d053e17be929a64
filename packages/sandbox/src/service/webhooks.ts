import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { failure, json, noContent, type Answer } from './answer.ts';
import { EVENT_TYPES, isEventType } from '../events/event-types.ts';
import type { Registration, Webhook } from './registration.ts';

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
      `event_types must be null or some of ${EVENT_TYPES.join(', ')}`,
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
