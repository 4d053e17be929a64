import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { failure, json, noContent, type Answer } from './answer.ts';
import type { User, Webhook } from './user.ts';

/** Event types of specification 6. */
export const EVENT_TYPES = [
  'research.completed',
  'research.failed',
  'bulk.completed',
  'bulk.failed',
  'list.analyzed',
  'list.failed',
  'watchlist.change_detected',
] as const;

/** `POST /v1/webhooks/register`: registers a URL or replaces the present one; each time with a new secret. */
export function registerWebhook(user: User, body: unknown, options: SandboxOptions): Answer {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const { url, event_types: types = null } = fields;
  if (typeof url !== 'string' || !isHttpUrl(url)) {
    return failure(400, 'invalid_url', 'url must be an http or https URL', options.errorBody);
  }
  if (types !== null && !isEventTypes(types)) {
    return failure(
      400,
      'invalid_event_types',
      `event_types must be null or some of ${EVENT_TYPES.join(', ')}`,
      options.errorBody,
    );
  }
  return json(200, webhookText(user.register(url, types), true, options));
}

/** `GET /v1/webhooks`: without the secret. What it answers when there is none, the specification does not show. */
export function readWebhook(user: User, options: SandboxOptions): Answer {
  if (user.webhook !== undefined) return json(200, webhookText(user.webhook, false, options));
  switch (options.noWebhook) {
    case 'null':
      return json(200, 'null');
    case 'object':
      return json(200, '{}');
    case '404':
      return failure(404, 'not_found', 'No webhook is registered', options.errorBody);
    case '204':
      return noContent();
    case 'empty-list':
      return json(200, '{"object":"list","data":[],"has_more":false}');
  }
}

/** `DELETE /v1/webhooks`. */
export function deleteWebhook(user: User): Answer {
  user.webhook = undefined;
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

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isEventTypes(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((type) => EVENT_TYPES.some((known) => known === type));
}
