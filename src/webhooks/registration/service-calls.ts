import { MalformedAnswer, TransportError } from '../../model/errors.ts';
import type { Seen } from '../../model/webhook/registration.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { type RegistrationOutcome, registrationOutcomeOf } from './registration-outcome.ts';
import { readWebhook, type ServiceAnswer } from './read-webhook.ts';

/** One request, sent once under a slot of the budget. */
export interface WebhookRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly route: string;
  readonly body?: string;
  /** Never aborted: a request on the wire is answered. */
  readonly signal: AbortSignal;
  /** Its abort ends the wait for a slot. */
  readonly stop: AbortSignal;
  /** Called right before the request is written, once it has its slot; false: it is not sent. */
  readonly claim?: () => Promise<boolean>;
}

/** The account's key at the service. */
export interface WebhookService {
  /**
   * Resolves for any status; undefined: the claim said no.
   * @throws KeyRefused where no usable key is left (nothing was sent); TransportError; the stop's reason; what the
   *   claim throws
   */
  readonly ask: (request: WebhookRequest) => Promise<ServiceAnswer | undefined>;
  /**
   * Whether the key of the last request is good, asked after a refusal, which may mean this endpoint alone. A bad key
   * is not used again.
   */
  readonly keyIsGood: (stop: AbortSignal) => Promise<boolean>;
  /** What the body of a refusal says, fit to be quoted: one short line without secrets. */
  readonly said: (text: string) => string;
}

/** The service did not do what was asked; the message says what and why. */
export class WebhookProblem extends Error {
  override readonly name = 'WebhookProblem';
}

const WEBHOOKS = { path: '/v1/webhooks', route: '/v1/webhooks' };
const REGISTER = { path: '/v1/webhooks/register', route: '/v1/webhooks/register' };

/** What is asked here. */
export const WEBHOOK_ENDPOINTS = [
  { method: 'GET', route: WEBHOOKS.route },
  { method: 'POST', route: REGISTER.route },
  { method: 'DELETE', route: WEBHOOKS.route },
] as const;

/** What is registered now. @throws WebhookProblem where that can't be found out; KeyRefused where no key is good */
export async function askWhatIsRegistered(service: WebhookService, stop: AbortSignal): Promise<Seen> {
  const what = `GET ${WEBHOOKS.path}`;
  try {
    const answer = await service.ask({ ...WEBHOOKS, method: 'GET', signal: unstopped(), stop });
    if (answer === undefined) throw new WebhookProblem(`${what} was not sent`);
    if (answer.status >= 300 && answer.status !== 404) throw await refused(service, what, answer, stop);
    return readWebhook(answer);
  } catch (error) {
    if (!(error instanceof TransportError || error instanceof MalformedAnswer)) throw error;
    throw new WebhookProblem(`${what}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Registers `url` for all event types.
 * @param claim commits that a registration is under way
 * @returns undefined: the claim said no
 * @throws KeyRefused where no key is good: it was not claimed
 */
export async function register(
  service: WebhookService,
  url: string,
  claim: () => Promise<boolean>,
  stop: AbortSignal,
): Promise<RegistrationOutcome | undefined> {
  try {
    // Null asks for all types: a service might keep those of the last registration where the field is left out.
    const body = JSON.stringify({ url, event_types: null });
    const answer = await service.ask({ ...REGISTER, method: 'POST', body, signal: unstopped(), stop, claim });
    if (answer === undefined) return undefined;
    if (await isOfKey(service, answer, stop)) return { kind: 'undone', why: 'the API key is refused' };
    return registrationOutcomeOf(answer, service.said);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return { kind: error.sent ? 'lost' : 'undone', why: messageOf(error) };
  }
}

/**
 * Has the service forget the account's webhook.
 * @returns whether it was sent
 * @throws WebhookProblem where it may still be registered; KeyRefused where no key is good
 */
export async function remove(
  service: WebhookService,
  claim: () => Promise<boolean>,
  stop: AbortSignal,
): Promise<boolean> {
  const what = `DELETE ${WEBHOOKS.path}`;
  try {
    const answer = await service.ask({ ...WEBHOOKS, method: 'DELETE', signal: unstopped(), stop, claim });
    if (answer === undefined) return false;
    if (answer.status >= 300 && answer.status !== 404) throw await refused(service, what, answer, stop);
    return true;
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    throw new WebhookProblem(`${what}: ${messageOf(error)}`, { cause: error });
  }
}

/** The answer refuses the key, not the request. */
async function isOfKey(
  service: WebhookService,
  { status }: ServiceAnswer,
  stop: AbortSignal,
): Promise<boolean> {
  return (status === 401 || status === 403) && !(await service.keyIsGood(stop));
}

async function refused(
  service: WebhookService,
  what: string,
  answer: ServiceAnswer,
  stop: AbortSignal,
): Promise<WebhookProblem> {
  if (await isOfKey(service, answer, stop)) return new WebhookProblem(`${what}: the API key is refused`);
  const words = service.said(answer.text);
  return new WebhookProblem(`${what} was answered ${answer.status}${words === '' ? '' : `: ${words}`}`);
}

function unstopped(): AbortSignal {
  return new AbortController().signal;
}
