import { MalformedAnswer } from '../../model/errors.ts';
import {
  canonicalText,
  fieldSource,
  refuseRepeatedNames,
  sliceElements,
} from '../../model/json/json-text.ts';
import type { Seen, SeenWebhook } from '../../model/webhook/registration.ts';

/** An answer of the service, whatever its status. */
export interface ServiceAnswer {
  readonly status: number;
  readonly text: string;
}

/** Fields in which an answer may wrap the webhook. A webhook that is overlooked would be replaced. */
const ENVELOPES = ['webhook', 'webhooks', 'data', 'items', 'results'];
/** A field called a secret, at any depth, in canonical JSON. */
const SECRET_FIELD = /"[^"\\]*secret[^"\\]*":/i;

type Fields = Readonly<Record<string, unknown>>;

/**
 * What `GET /v1/webhooks` shows (specification 2.3). Without one, services answer `null`, `{}`, 404, 204 or an empty
 * list (docs/design/open-questions.md, "Webhooks"): a webhook is what has a URL.
 * @param answer with a status of 2xx or 404
 * @throws MalformedAnswer for any other body
 */
export function readWebhook({ status, text }: ServiceAnswer): Seen {
  if (status === 404 || status === 204) return 'none';
  // A part of an answer, or one that is not ready, would have another program's webhook replaced.
  if (status !== 200)
    throw new MalformedAnswer(`it was answered ${status}: only a 200 says what is registered`);
  const { value, source } = parse(text);
  if (value === null) return 'none';
  refuseRepeatedNames(source);
  const object = webhookIn(value, source);
  refuseRepeatedNames(object?.source ?? '');
  return object === undefined ? 'none' : (seenOf(object) ?? 'none');
}

/**
 * The answer to an accepted registration: the webhook and its secret, either of which may be missing.
 * @throws MalformedAnswer where it is no JSON object
 */
export function readRegistered({ text }: ServiceAnswer): {
  readonly secret: string | undefined;
  readonly seen: SeenWebhook | undefined;
} {
  const { value, source } = parse(text);
  const object = webhookIn(value, source);
  if (object === undefined) throw new MalformedAnswer('the answer holds no webhook');
  const { secret } = object.fields;
  return { secret: typeof secret === 'string' && secret !== '' ? secret : undefined, seen: seenOf(object) };
}

interface JsonObject {
  readonly fields: Fields;
  readonly source: string;
}

/** Its messages quote nothing: the text may hold a secret. */
function parse(text: string): { readonly value: unknown; readonly source: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new MalformedAnswer('the body is not JSON');
  }
  if (isObject(value) && value['url'] === undefined && isError(value)) {
    throw new MalformedAnswer('the body is an error');
  }
  return { value, source: text };
}

/** The webhook's object: the body itself, one level down, or the one element of a list. */
function webhookIn(value: unknown, source: string): JsonObject | undefined {
  if (Array.isArray(value)) {
    const [first] = value as unknown[];
    return isObject(first) ? { fields: first, source: sliceElements(source, [])[0] ?? '' } : undefined;
  }
  if (!isObject(value)) throw new MalformedAnswer(`the body is ${typeof value}, not an object`);
  if ('url' in value || 'secret' in value) return { fields: value, source };
  for (const field of ENVELOPES) {
    const inner = value[field];
    if (isObject(inner) || Array.isArray(inner)) return webhookIn(inner, fieldSource(source, field) ?? '');
  }
  return undefined;
}

function seenOf({ fields, source }: JsonObject): SeenWebhook | undefined {
  const { url, active, event_types: types, secret } = fields;
  if (typeof url !== 'string' || url.trim() === '') return undefined;
  const eventTypes = Array.isArray(types) && types.every((type) => typeof type === 'string') ? types : null;
  return {
    url,
    active: typeof active === 'boolean' ? active : null,
    eventTypes,
    source: withoutSecret(fields, source, typeof secret === 'string' ? secret : ''),
  };
}

/** Without fields called a secret; and without all undocumented ones, if the secret is deeper, or there twice. */
function withoutSecret(fields: Fields, source: string, secret: string): string {
  const secrets = new Set(Object.keys(fields).filter((field) => /secret/i.test(field)));
  const left = canonicalText(source, secrets);
  const again = secret !== '' && left.includes(secret);
  if (!again && !SECRET_FIELD.test(left)) return left;
  const others = Object.keys(fields).filter((field) => !['object', 'active', 'event_types'].includes(field));
  return canonicalText(source, new Set(others));
}

function isError(value: Fields): boolean {
  const error = value['error'] ?? value['errors'];
  return (error !== undefined && error !== null && error !== false) || value['object'] === 'error';
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
