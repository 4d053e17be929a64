import {
  isLately,
  type Registration,
  type StoredRegistration,
  SUSPECT_MISMATCHES,
} from '../../model/webhook/registration.ts';
import { ON_HOLD, NO_SECRET } from './remedies.ts';
import {
  AGAIN_MS,
  CHECK_MS,
  EFFECT_MS,
  LEAST_CHECK_MS,
  LOST_MS,
  type RegistrationSettings,
  type NextStep,
  WEIGH_MS,
} from './registration-step.ts';

/** Without a success for so long, mismatches are no accident; and what changed so long ago has been announced, or never will be. */
const NO_SUCCESS_MS = 10 * 60_000;

/** What to do next about an account's webhook (docs/design/events.md, "Registration"), by what is stored of it; pure. */
export function nextStep(stored: StoredRegistration, settings: RegistrationSettings): NextStep {
  const { registration, now } = stored;
  if (settings.wanted !== undefined) {
    if (registration.state === 'registered' && registration.secret === null) {
      return { kind: 'record', change: { state: 'suspect', error: NO_SECRET } };
    }
    if (registration.state === 'suspect' && !isMistrusted(registration, now)) {
      return { kind: 'record', change: { state: 'registered', error: null } };
    }
    const weigh = whatToWeigh(registration, settings, now);
    if (weigh !== undefined) return weigh;
  }
  const due = lookDue(stored, settings);
  return due.getTime() <= now.getTime() ? { kind: 'look' } : { kind: 'wait', until: due };
}

/** No secret is known; or too many deliveries mismatch, and none has matched for a while. */
function isMistrusted({ secret, mismatches, verifiedAt }: Registration, now: Date): boolean {
  if (secret === null) return true;
  if (mismatches < SUSPECT_MISMATCHES) return false;
  return verifiedAt === null || !isLately(verifiedAt, NO_SUCCESS_MS, now);
}

/**
 * Anybody can send what mismatches: that alone is no evidence. What changed at the service is, where it announces such
 * changes, and no verified delivery told of anything since.
 */
function whatToWeigh(
  registration: Registration,
  { weighedAt }: RegistrationSettings,
  now: Date,
): NextStep | undefined {
  const { state, registeredAt, verifiedAt } = registration;
  if (state !== 'registered' || registeredAt === null || !isMistrusted(registration, now)) return undefined;
  if (weighedAt !== undefined && isLately(weighedAt, WEIGH_MS, now)) return undefined;
  const since = verifiedAt === null || verifiedAt < registeredAt ? registeredAt : verifiedAt;
  const until = new Date(now.getTime() - NO_SUCCESS_MS);
  return since < until ? { kind: 'weigh', since, until } : undefined;
}

/** When the service is to be asked again what is registered. */
function lookDue(stored: StoredRegistration, settings: RegistrationSettings): Date {
  const { registration, now } = stored;
  const { state, checkedAt, registeringAt } = registration;
  if (state === 'registering' && registeringAt !== null) {
    // Whatever is seen earlier, the request may still take effect.
    const waitMs = Math.min(CHECK_MS, LOST_MS * 2 ** Math.max(0, settings.lost - 1));
    if (isLately(registeringAt, waitMs, now)) return new Date(registeringAt.getTime() + waitMs);
  }
  if (checkedAt === null || settings.fresh || !isLately(checkedAt, CHECK_MS, now)) return now;
  const wish = reasonToLook(stored, settings)?.getTime() ?? checkedAt.getTime() + CHECK_MS;
  return new Date(
    Math.max(checkedAt.getTime() + LEAST_CHECK_MS, Math.min(checkedAt.getTime() + CHECK_MS, wish)),
  );
}

/** When something is to be looked at out of turn. */
function reasonToLook(
  { registration, onHold, now }: StoredRegistration,
  { wanted }: RegistrationSettings,
): Date | undefined {
  const { state, checkedAt, registeredAt, suspectAt, error } = registration;
  if (wanted === undefined || onHold) return undefined;
  if (state === 'registering' || error === ON_HOLD) return now;
  if (state === 'suspect') return suspectAt === null ? now : new Date(suspectAt.getTime() + AGAIN_MS);
  if (state !== 'registered' || registeredAt === null) return undefined;
  const shows = new Date(registeredAt.getTime() + EFFECT_MS);
  return checkedAt === null || checkedAt < shows ? shows : undefined;
}
