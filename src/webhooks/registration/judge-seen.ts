import {
  isLately,
  type Registration,
  type RegistrationChange,
  type Seen,
  type SeenWebhook,
  type StoredRegistration,
} from '../../model/webhook/registration.ts';
import {
  AGAIN_MS,
  EFFECT_MS,
  type RegistrationSettings,
  type RegistrationVerdict,
} from './registration-step.ts';
import { ON_HOLD, leftAlone, nothingThere, STOPPED } from './remedies.ts';
import { sameUrl } from './same-url.ts';
import { EVENT_TYPES } from '../../model/webhook/event-types.ts';

/** How services spell "all" in a list. */
const ALL = new Set(['*', 'all']);

/**
 * Whether a webhook that shows these types delivers what was registered, which is every type.
 * @param answered the types in the registration's own answer: that is how the service shows ours
 */
export function deliversAll(seen: readonly string[] | null, answered: readonly string[] | null): boolean {
  if (seen === null || seen.some((type) => ALL.has(type))) return true;
  if (answered !== null && sameTypes(seen, answered)) return true;
  // A registration for all types has each known one.
  return EVENT_TYPES.every((type) => seen.includes(type));
}

function sameTypes(one: readonly string[], other: readonly string[]): boolean {
  return one.every((type) => other.includes(type)) && other.every((type) => one.includes(type));
}

/** Replaced so often within `FIGHT_MS` (ms): another program wants the account's one webhook, too. */
const FIGHT_COUNT = 2;
const FIGHT_MS = 60 * 60_000;

/**
 * What to do about the webhook that the service shows (docs/design/events.md, "Registration"); pure. Every
 * registration makes a new secret, so there is one only where ours is missing or changed, or its secret is unknown or
 * mistrusted.
 */
export function judgeSeen(
  stored: StoredRegistration,
  seen: Seen,
  settings: RegistrationSettings,
): RegistrationVerdict {
  const { registration, onHold } = stored;
  const { wanted } = settings;
  const kept = onHold ? forgetOthers(stored, wanted) : {};
  if (wanted === undefined) {
    if (!onHold && seen !== 'none' && isOwn(stored, seen)) return { kind: 'remove', change: {} };
    return record({ ...kept, state: 'none', error: null });
  }
  const place = placeOf(stored, seen, wanted);
  const good = place === 'ours' && isAsRegistered(stored, seen, wanted);
  if (good && registration.state !== 'suspect') {
    return record({ ...kept, state: 'registered', error: null });
  }
  if (onHold) return record({ ...kept, error: ON_HOLD });
  if (good) {
    const { suspectAt } = registration;
    if (suspectAt !== null && isLately(suspectAt, AGAIN_MS, stored.now)) return record({});
    return register(stored, wanted, { suspectAt: stored.now });
  }
  if (mayNotShowYet(stored)) return record({});
  return orLeave(stored, seen, settings, wanted, place);
}

/** Ours is missing or changed: registers it again where that is allowed, is no fight, and was not just refused. */
function orLeave(
  stored: StoredRegistration,
  seen: Seen,
  settings: RegistrationSettings,
  wanted: string,
  place: Place,
): RegistrationVerdict {
  const { registration, now } = stored;
  if (place === 'foreign' && settings.takeover !== 'always') {
    return record({ state: 'foreign', error: leftAlone(seen, settings.takeover) });
  }
  if (place === 'none' && settings.takeover === 'never' && stored.ownUrls.length === 0) {
    return record({ state: 'none', error: nothingThere() });
  }
  const recent = registration.replacedAt.filter((at) => isLately(at, FIGHT_MS, now));
  if (registration.state === 'stopped') {
    if (!settings.fresh || recent.length >= FIGHT_COUNT) return record({ error: STOPPED });
  } else if (wasInForce(stored, wanted)) {
    recent.push(now);
    if (recent.length >= FIGHT_COUNT) return record({ state: 'stopped', replacedAt: recent, error: STOPPED });
  }
  if (wasRefused(stored, wanted)) return record({});
  return register(stored, wanted, { replacedAt: recent });
}

/**
 * Whose webhook is registered. `ours`: at the URL wanted; `moved`: at another URL of ours; `none`: also where it is
 * switched off (docs/design/open-questions.md, "Webhooks").
 */
type Place = 'ours' | 'moved' | 'foreign' | 'none';

function placeOf(stored: StoredRegistration, seen: Seen, wanted: string): Place {
  if (seen === 'none' || seen.active === false) return 'none';
  if (leadsTo(stored, seen.url, wanted)) return 'ours';
  return isOwn(stored, seen) ? 'moved' : 'foreign';
}

/** It is the URL wanted, whoever registered it, or the service's spelling of it in its last answer. */
function leadsTo(stored: StoredRegistration, url: string, wanted: string): boolean {
  return sameUrl(url, wanted) || (isRegisteredAs(stored, wanted) && isRegisteredAs(stored, url));
}

/**
 * The last accepted registration sent this URL, or its answer showed it. (`registration.url` is that of the last
 * request, which may have been refused: the one before is then still registered.)
 */
function isRegisteredAs({ registration, ownUrls }: StoredRegistration, url: string): boolean {
  const registeredAt = registration.registeredAt?.getTime();
  return ownUrls.some((own) => own.registeredAt.getTime() === registeredAt && sameUrl(own.url, url));
}

/** Ours is any URL that was ever registered from here. */
function isOwn({ ownUrls }: StoredRegistration, { url }: SeenWebhook): boolean {
  return ownUrls.some((own) => sameUrl(own.url, url));
}

/** The known secret is that of the registered webhook, as far as can be seen, and every event is delivered. */
function isAsRegistered(stored: StoredRegistration, seen: Seen, wanted: string): boolean {
  const { registration } = stored;
  if (seen === 'none' || !isRegisteredAs(stored, wanted) || !hasItsSecret(registration)) return false;
  return deliversAll(seen.eventTypes, registration.eventTypes);
}

/**
 * The secret is that of the present registration: it came with the last request that registers; or that request was
 * refused, and deliveries are still signed with it.
 */
function hasItsSecret(registration: Registration): boolean {
  const { state, secret, registeringAt, verifiedAt } = registration;
  if (secret === null || state === 'registering') return false;
  if (wasAccepted(registration)) return true;
  return registeringAt !== null && verifiedAt !== null && verifiedAt.getTime() > registeringAt.getTime();
}

/** The last request that registers was accepted. */
function wasAccepted({ registeringAt, registeredAt }: Registration): boolean {
  if (registeredAt === null) return false;
  return registeringAt === null || registeringAt.getTime() <= registeredAt.getTime();
}

/**
 * Ours was registered as it should be, and somebody else has changed it. While repairs are refused, it is still the
 * same change, not a second one.
 */
function wasInForce(stored: StoredRegistration, wanted: string): boolean {
  const { state, secret } = stored.registration;
  if ((state !== 'registered' && state !== 'suspect') || secret === null) return false;
  return isRegisteredAs(stored, wanted) && wasAccepted(stored.registration);
}

function mayNotShowYet({ registration, now }: StoredRegistration): boolean {
  const { registeredAt } = registration;
  return registeredAt !== null && hasItsSecret(registration) && isLately(registeredAt, EFFECT_MS, now);
}

/** Less than an hour ago the service refused this URL, or gave no secret for it. */
function wasRefused({ registration, now }: StoredRegistration, wanted: string): boolean {
  const { state, url, secret, registeringAt } = registration;
  if (state === 'registering' || registeringAt === null) return false;
  if (wasAccepted(registration) && secret !== null) return false;
  return url !== null && sameUrl(url, wanted) && isLately(registeringAt, AGAIN_MS, now);
}

/** A copy of a database forgets all URLs but the one wanted: they may be the original's. */
function forgetOthers(
  stored: StoredRegistration,
  wanted: string | undefined,
): Pick<RegistrationChange, 'keepOwnUrls'> {
  const kept = stored.ownUrls.filter(({ url }) => wanted !== undefined && leadsTo(stored, url, wanted));
  return kept.length === stored.ownUrls.length ? {} : { keepOwnUrls: kept.map(({ url }) => url) };
}

function record(change: RegistrationChange): RegistrationVerdict {
  return { kind: 'record', change };
}

function register(
  { now }: StoredRegistration,
  wanted: string,
  change: RegistrationChange,
): RegistrationVerdict {
  const begun = { state: 'registering', url: wanted, registeringAt: now } as const;
  return { kind: 'register', url: wanted, change: { ...change, ...begun } };
}
