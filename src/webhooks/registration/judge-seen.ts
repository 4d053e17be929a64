import {
  isLately,
  type Registration,
  type RegistrationChange,
  type Seen,
  type SeenWebhook,
  type StoredRegistration,
} from '../../model/webhook/registration.ts';
import { deliversAll } from './delivers-all.ts';
import {
  AGAIN_MS,
  EFFECT_MS,
  type RegistrationSettings,
  type RegistrationVerdict,
} from './registration-step.ts';
import { ON_HOLD, leftAlone, nothingThere, STOPPED } from './remedies.ts';
import { sameUrl } from './same-url.ts';

/** Ours replaced so often within `FIGHT_MS`: somebody else wants the account's one webhook, too. */
const FIGHT_COUNT = 2;
const FIGHT_MS = 60 * 60_000;

/**
 * What an answer to "what is registered" means (docs/design/events.md, "Registration"); pure. Every registration makes a new secret, so none is idle:
 * only where nothing of ours is registered, it is not as it should be, or its secret is not known or not believed.
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

/** It is not as it should be: registered anew, where that is allowed, no fight, and not refused a moment ago. */
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
 * Whose webhook is there: `ours`: at the URL wanted; `moved`: at another one of ours; `none` also where it is switched
 * off (docs/design/open-questions.md, "Webhooks").
 */
type Place = 'ours' | 'moved' | 'foreign' | 'none';

function placeOf(stored: StoredRegistration, seen: Seen, wanted: string): Place {
  if (seen === 'none' || seen.active === false) return 'none';
  if (leadsTo(stored, seen.url, wanted)) return 'ours';
  return isOwn(stored, seen) ? 'moved' : 'foreign';
}

/** It is the URL wanted, whoever registered it, or how the service spelled it in the answer to the last registration. */
function leadsTo(stored: StoredRegistration, url: string, wanted: string): boolean {
  return sameUrl(url, wanted) || (isRegisteredAs(stored, wanted) && isRegisteredAs(stored, url));
}

/**
 * The last registration that was accepted was of this URL, or showed it. (`url` of the registration is that of the last
 * request, which may have been refused: then what was there before is there still.)
 */
function isRegisteredAs({ registration, ownUrls }: StoredRegistration, url: string): boolean {
  const registeredAt = registration.registeredAt?.getTime();
  return ownUrls.some((own) => own.registeredAt.getTime() === registeredAt && sameUrl(own.url, url));
}

/** Ours is any URL that was ever registered from here. */
function isOwn({ ownUrls }: StoredRegistration, { url }: SeenWebhook): boolean {
  return ownUrls.some((own) => sameUrl(own.url, url));
}

/** The secret belongs to what is there, as far as can be seen, and every event is delivered. */
function isAsRegistered(stored: StoredRegistration, seen: Seen, wanted: string): boolean {
  const { registration } = stored;
  if (seen === 'none' || !isRegisteredAs(stored, wanted) || !hasItsSecret(registration)) return false;
  return deliversAll(seen.eventTypes, registration.eventTypes);
}

/**
 * The secret is that of the present registration: it came with the last request that registers; or that one was
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
 * Something of ours was there as it should be, and has been changed by somebody else. Where setting it right was refused
 * since, that is the same change still, and no second one.
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

/** What a copy of a database believes to be its own may be the original's: all but the URL wanted, however it is spelled. */
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
