import { MalformedAnswer, TransportError } from '../model/errors.ts';
import { canonicalText, fieldSource, refuseRepeatedNames, sliceElements } from '../model/json-text.ts';
import type { Seen } from './registration.ts';
import { messageOf } from '@research-mirror/runtime/message';

/** One request, sent once under a slot of the budget. */
export interface WebhookRequest {
  readonly method: 'GET' | 'POST';
  readonly route: string;
  readonly body?: string;
  /** Ends the wait for a slot; a request on the wire is answered. */
  readonly stop: AbortSignal;
  /** Called right before the request is written, once it has its slot; false: it is not sent. */
  readonly claim?: () => Promise<boolean>;
}

/** An answer with any status. */
export interface ServiceAnswer {
  readonly status: number;
  readonly text: string;
  /** What a refusal says, fit to be quoted: one short line without secrets. '' for an accepted request. */
  readonly words: string;
}

/**
 * Sends a request under the account's key. Resolves for any status that does not refuse the key; undefined: not
 * claimed.
 * @throws KeyRefused if no usable key is left (nothing was sent); TransportError, also if the key has just been
 *   refused; the stop's reason; errors of the claim
 */
export type WebhookService = (request: WebhookRequest) => Promise<ServiceAnswer | undefined>;

/**
 * The outcome of a registration request. `refused`: another one would be refused as well; `lost`: it may have taken
 * effect, or still may, with a secret that is not known here.
 */
export type RegistrationOutcome =
  | { readonly kind: 'accepted'; readonly secret: string; readonly seen: Exclude<Seen, 'none'> | undefined }
  | { readonly kind: 'refused' | 'lost'; readonly why: string };

const WEBHOOKS = '/v1/webhooks';
const REGISTER = '/v1/webhooks/register';

export const WEBHOOK_ENDPOINTS = [
  { method: 'GET', route: WEBHOOKS },
  { method: 'POST', route: REGISTER },
] as const;

/** Fields in which an answer may wrap the webhook. An overlooked webhook would be replaced. */
const ENVELOPES = ['webhook', 'webhooks', 'data', 'items', 'results'];
/** Documented fields of a webhook that hold no secret. */
const DOCUMENTED = new Set(['object', 'active', 'event_types']);

/** The registered webhook. @throws if it can't be found out; the message says why */
export async function askWhatIsRegistered(service: WebhookService, stop: AbortSignal): Promise<Seen> {
  const answer = await service({ method: 'GET', route: WEBHOOKS, stop });
  if (answer === undefined) throw new Error(`GET ${WEBHOOKS} was not sent`);
  if (answer.status >= 300 && answer.status !== 404) throw new Error(`GET ${WEBHOOKS} ${toldBy(answer)}`);
  return readWebhook(answer);
}

/**
 * Registers `url` for all event types.
 * @param claim commits that a registration is under way
 * @returns undefined: not claimed
 */
export async function register(
  service: WebhookService,
  url: string,
  claim: () => Promise<boolean>,
  stop: AbortSignal,
): Promise<RegistrationOutcome | undefined> {
  try {
    // Null asks for all types: without the field, a service might keep those of the last registration.
    const body = JSON.stringify({ url, event_types: null });
    const answer = await service({ method: 'POST', route: REGISTER, body, stop, claim });
    return answer && outcomeOf(answer);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return { kind: 'lost', why: messageOf(error) };
  }
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The webhook in an answer to `GET /v1/webhooks` (specification 2.3). For none, services answer `null`, `{}`, 404, 204
 * or an empty list (docs/design/open-questions.md, "Webhooks"): an object with a URL is a webhook.
 * @param answer with a status of 2xx or 404
 * @throws MalformedAnswer for any other body
 */
export function readWebhook({ status, text }: Pick<ServiceAnswer, 'status' | 'text'>): Seen {
  if (status === 404 || status === 204) return 'none';
  // A partial or unfinished answer would have another program's webhook replaced.
  if (status !== 200) throw new MalformedAnswer(`it returned ${status}, but only a 200 says what is registered`);
  const value = parsed(text);
  if (value === null) return 'none';
  refuseRepeatedNames(text);
  const source = sourceIn(value, text);
  if (source === undefined) return 'none';
  refuseRepeatedNames(source);
  return seenIn(source) ?? 'none';
}

/** The meaning of an answer to `POST /v1/webhooks/register`. 401 and 403 come from the endpoint: the key is good. */
export function outcomeOf(answer: ServiceAnswer): RegistrationOutcome {
  const { status, text } = answer;
  if (status >= 200 && status < 300) {
    try {
      const source = sourceIn(parsed(text), text);
      if (source === undefined) throw new MalformedAnswer('the answer has no webhook');
      const { secret } = JSON.parse(source) as Fields;
      // Deliveries can't be verified, and another request would be answered alike.
      if (typeof secret !== 'string' || secret === '')
        return { kind: 'refused', why: `it returned ${status} without a secret` };
      return { kind: 'accepted', secret, seen: seenIn(source) };
    } catch (error) {
      if (!(error instanceof MalformedAnswer)) throw error;
      return { kind: 'lost', why: `it returned ${status}, but ${messageOf(error)}` };
    }
  }
  const isLost = [408, 425, 429].includes(status) || status >= 500;
  return { kind: isLost ? 'lost' : 'refused', why: `it ${toldBy(answer)}` };
}

/** `returned 402: no credits` */
function toldBy({ status, words }: ServiceAnswer): string {
  return `returned ${status}${words === '' ? '' : `: ${words}`}`;
}

/** The errors quote nothing: the text may hold a secret. */
function parsed(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new MalformedAnswer('the body is not JSON');
  }
  if (!isObject(value) || value['url'] !== undefined) return value;
  const error = value['error'] ?? value['errors'] ?? false;
  if (error !== false || value['object'] === 'error') throw new MalformedAnswer('the body is an error');
  return value;
}

/** JSON text of the webhook's object: the body itself, one level down, or the first element of a list. */
function sourceIn(value: unknown, source: string): string | undefined {
  if (Array.isArray(value)) return isObject(value[0]) ? sliceElements(source, [])[0] : undefined;
  if (!isObject(value)) throw new MalformedAnswer(`the body is ${typeof value}, not an object`);
  if ('url' in value || 'secret' in value) return source;
  const field = ENVELOPES.find((name) => typeof value[name] === 'object' && value[name] !== null);
  return field === undefined ? undefined : sourceIn(value[field], fieldSource(source, field) ?? '');
}

function seenIn(source: string): Exclude<Seen, 'none'> | undefined {
  const fields = JSON.parse(source) as Fields;
  const { url, active } = fields;
  if (typeof url !== 'string' || url.trim() === '') return undefined;
  return { url, active: typeof active === 'boolean' ? active : null, source: withoutSecret(fields, source) };
}

/** Without fields named as a secret, and without all undocumented ones if the rest may hold a secret. */
function withoutSecret(fields: Fields, source: string): string {
  const { secret } = fields;
  const names = Object.keys(fields);
  const left = canonicalText(source, new Set(names.filter((name) => /secret/i.test(name))));
  const isShown = typeof secret === 'string' && secret !== '' && left.includes(secret);
  return /secret/i.test(left) || isShown ? canonicalText(source, new Set(names).difference(DOCUMENTED)) : left;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
