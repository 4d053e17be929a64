import { TransportError } from '../../model/errors.ts';
import type { Seen } from '../../model/webhook/registration.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { outcomeOf, readWebhook, type RegistrationOutcome, type ServiceAnswer, toldBy } from './answers.ts';

/** One request, sent once under a slot of the budget. */
export interface WebhookRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly route: string;
  readonly body?: string;
  /** Its abort ends the wait for a slot; a request on the wire is answered. */
  readonly stop: AbortSignal;
  /** Called right before the request is written, once it has its slot; false: it is not sent. */
  readonly claim?: () => Promise<boolean>;
}

/**
 * Asks the service, by the account's key. Resolves for any status that does not refuse the key; undefined: the claim said
 * no.
 * @throws KeyRefused where no usable key is left (nothing was sent); TransportError, also where the key has just been
 *   refused; the stop's reason; what the claim throws
 */
export type WebhookService = (request: WebhookRequest) => Promise<ServiceAnswer | undefined>;

const WEBHOOKS = '/v1/webhooks';
const REGISTER = '/v1/webhooks/register';

/** What is asked here. */
export const WEBHOOK_ENDPOINTS = [
  { method: 'GET', route: WEBHOOKS },
  { method: 'POST', route: REGISTER },
  { method: 'DELETE', route: WEBHOOKS },
] as const;

/** What is registered now. @throws where that can't be found out; the message says why */
export async function askWhatIsRegistered(service: WebhookService, stop: AbortSignal): Promise<Seen> {
  const answer = await service({ method: 'GET', route: WEBHOOKS, stop });
  if (answer === undefined) throw new Error(`GET ${WEBHOOKS} was not sent`);
  return readWebhook(accepted('GET', answer));
}

/**
 * Registers `url` for all event types.
 * @param claim commits that a registration is under way
 * @returns undefined: the claim said no
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
    const answer = await service({ method: 'POST', route: REGISTER, body, stop, claim });
    return answer && outcomeOf(answer);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return { kind: error.sent ? 'lost' : 'undone', why: messageOf(error) };
  }
}

/**
 * Has the service forget the account's webhook.
 * @returns whether it was sent
 * @throws where it may still be registered
 */
export async function remove(
  service: WebhookService,
  claim: () => Promise<boolean>,
  stop: AbortSignal,
): Promise<boolean> {
  const answer = await service({ method: 'DELETE', route: WEBHOOKS, stop, claim });
  if (answer === undefined) return false;
  accepted('DELETE', answer);
  return true;
}

function accepted(method: string, answer: ServiceAnswer): ServiceAnswer {
  if (answer.status < 300 || answer.status === 404) return answer;
  throw new Error(`${method} ${WEBHOOKS} was ${toldBy(answer)}`);
}
