import { MalformedAnswer } from '../../model/errors.ts';
import type { SeenWebhook } from '../../model/webhook/registration.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { readRegistered, type ServiceAnswer } from './read-webhook.ts';

/** The outcome of a request that registers. */
export type RegistrationOutcome =
  | {
      readonly kind: 'accepted';
      readonly secret: string | undefined;
      readonly seen: SeenWebhook | undefined;
    }
  /** It has had no effect, and would have none again. */
  | { readonly kind: 'refused'; readonly why: string }
  /** It has had no effect, and may be repeated. */
  | { readonly kind: 'undone'; readonly why: string }
  /** It may have taken effect, or still may; its secret is lost. */
  | { readonly kind: 'lost'; readonly why: string };

/**
 * What an answer to `POST /v1/webhooks/register` means. 401 and 403 come from the endpoint: the key is good.
 * @param said what the body says, fit to be quoted; never called for a 2xx, which holds the secret
 */
export function registrationOutcomeOf(
  answer: ServiceAnswer,
  said: (text: string) => string,
): RegistrationOutcome {
  const { status } = answer;
  if (status >= 200 && status < 300) {
    try {
      return { kind: 'accepted', ...readRegistered(answer) };
    } catch (error) {
      if (!(error instanceof MalformedAnswer)) throw error;
      return { kind: 'lost', why: `it was answered ${status}, but ${messageOf(error)}` };
    }
  }
  const words = said(answer.text);
  const why = `it was answered ${status}${words === '' ? '' : `: ${words}`}`;
  if (status === 429) return { kind: 'undone', why };
  if (status === 408 || status === 425 || status >= 500) return { kind: 'lost', why };
  return { kind: 'refused', why };
}
