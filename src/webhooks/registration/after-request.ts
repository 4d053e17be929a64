import type { Registration, RegistrationChange } from '../../model/webhook/registration.ts';
import type { RegistrationOutcome } from './registration-outcome.ts';
import { NO_SECRET } from './remedies.ts';

/**
 * What to store after a request to register `url`.
 * @param before what was stored before it was claimed
 */
export function afterRequest(
  outcome: RegistrationOutcome,
  url: string,
  before: Registration,
  now: Date,
): RegistrationChange {
  switch (outcome.kind) {
    case 'accepted':
      return accepted(outcome, url, before, now);
    case 'lost':
      return {
        // The wait begins now: the request may have been under way for long.
        registeringAt: now,
        error: `whether the webhook was registered is not known (${outcome.why}): it is looked at, and registered again`,
      };
    case 'refused':
      return {
        state: before.state === 'registering' ? 'none' : before.state,
        error: `the service refuses to register the webhook: ${outcome.why}. Only polls find changes; tried again hourly`,
      };
    case 'undone': {
      const { state, registeringAt, suspectAt, replacedAt } = before;
      return { state, url: before.url, registeringAt, suspectAt, replacedAt };
    }
  }
}

function accepted(
  { secret, seen }: Extract<RegistrationOutcome, { kind: 'accepted' }>,
  url: string,
  before: Registration,
  now: Date,
): RegistrationChange {
  const known = secret !== undefined || before.secret !== null;
  return {
    accepted: { secret },
    state: known ? 'registered' : 'suspect',
    eventTypes: seen?.eventTypes ?? null,
    registeredAt: now,
    // The service's spelling is ours, too.
    addOwnUrls: seen === undefined ? [url] : [url, seen.url],
    error: known ? null : NO_SECRET,
    ...(known ? {} : { suspectAt: now }),
  };
}
