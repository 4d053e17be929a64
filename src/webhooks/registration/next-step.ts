import {
  isLately,
  type Registration,
  SILENT_CHANGES,
  type StoredRegistration,
  SUSPECT_MISMATCHES,
} from '../../model/webhook/registration.ts';
import { ON_HOLD, NO_SECRET, saysNothingArrives } from './remedies.ts';
import {
  AGAIN_MS,
  CHECK_MS,
  COUNT_MS,
  EFFECT_MS,
  LEAST_CHECK_MS,
  LOST_MS,
  type RegistrationSettings,
  type NextStep,
  SILENT_MS,
  UNDER_WAY_MS,
  WEIGH_MS,
} from './registration-step.ts';

/** After so long (ms) without a success mismatches are no accident, and a change was announced or never will be. */
const NO_SUCCESS_MS = 10 * 60_000;

/** What to do next about an account's webhook, by what is stored (docs/design/events.md, "Registration"); pure. */
export function nextStep(stored: StoredRegistration, settings: RegistrationSettings): NextStep {
  const { registration, now } = stored;
  if (settings.wanted !== undefined) {
    if (registration.state === 'registered' && registration.secret === null) {
      return { kind: 'record', change: { state: 'suspect', error: NO_SECRET } };
    }
    if (registration.state === 'suspect' && !isMistrusted(registration, now)) {
      return { kind: 'record', change: { state: 'registered', error: null } };
    }
    const { error, verifiedAt, checkedAt } = registration;
    if (saysNothingArrives(error) && verifiedAt !== null && checkedAt !== null && verifiedAt > checkedAt) {
      return { kind: 'record', change: { error: null } };
    }
    const weigh = whatToWeigh(registration, settings, now);
    if (weigh !== undefined) return weigh;
    const count = whatToCount(registration, settings, now);
    if (count !== undefined) return count;
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
 * Anybody can send deliveries that mismatch: they are no evidence. Changes at the service that no verified delivery
 * announced are.
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

/**
 * A webhook that was removed at the service, or that nothing reaches, shows by changes that our own reading found since
 * the last delivery that was right.
 */
function whatToCount(
  registration: Registration,
  { countedAt }: RegistrationSettings,
  now: Date,
): NextStep | undefined {
  const { state, registeredAt, verifiedAt } = registration;
  if (state !== 'registered' || registeredAt === null || isMistrusted(registration, now)) return undefined;
  if (countedAt !== undefined && isLately(countedAt, COUNT_MS, now)) return undefined;
  // What changed before events came is announced by none.
  const shows = new Date(registeredAt.getTime() + EFFECT_MS);
  const since = verifiedAt === null || verifiedAt < shows ? shows : verifiedAt;
  const until = new Date(now.getTime() - UNDER_WAY_MS);
  return since < until ? { kind: 'count', since, until } : undefined;
}

/** When the service is to be asked again what is registered. */
function lookDue(stored: StoredRegistration, settings: RegistrationSettings): Date {
  const { registration, now } = stored;
  const { state, checkedAt, registeringAt } = registration;
  if (state === 'registering' && registeringAt !== null) {
    // Until then the request may still take effect, whatever the service shows.
    const waitMs = Math.min(CHECK_MS, LOST_MS * 2 ** Math.max(0, settings.lost - 1));
    if (isLately(registeringAt, waitMs, now)) return new Date(registeringAt.getTime() + waitMs);
  }
  if (checkedAt === null || settings.fresh || !isLately(checkedAt, CHECK_MS, now)) return now;
  const wish = reasonToLook(stored, settings)?.getTime() ?? checkedAt.getTime() + CHECK_MS;
  return new Date(
    Math.max(checkedAt.getTime() + LEAST_CHECK_MS, Math.min(checkedAt.getTime() + CHECK_MS, wish)),
  );
}

/** When there is reason to ask the service earlier than usual. */
function reasonToLook(
  { registration, onHold, now }: StoredRegistration,
  { wanted, unannounced }: RegistrationSettings,
): Date | undefined {
  const { state, checkedAt, registeredAt, suspectAt, error } = registration;
  if (wanted === undefined || onHold) return undefined;
  if (state === 'registering' || error === ON_HOLD) return now;
  if (state === 'suspect') return suspectAt === null ? now : new Date(suspectAt.getTime() + AGAIN_MS);
  if (state !== 'registered' || registeredAt === null) return undefined;
  const shows = new Date(registeredAt.getTime() + EFFECT_MS);
  if (checkedAt === null || checkedAt < shows) return shows;
  return unannounced >= SILENT_CHANGES ? new Date(checkedAt.getTime() + SILENT_MS) : undefined;
}
