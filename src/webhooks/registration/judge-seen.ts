import {
  isLately,
  type Registration,
  type RegistrationChange,
  type Seen,
  type SeenWebhook,
  type StoredRegistration,
} from '../../model/registration.ts';
import { deliversAll } from './event-types.ts';
import { AGAIN_MS, EFFECT_MS, type RegistrationSettings, type Verdict } from './step.ts';
import { HELD, leftAlone, nothingThere, STOPPED } from './remedies.ts';
import { sameUrl } from './same-url.ts';

/** Ours replaced so often within `FIGHT_MS`: somebody else wants the account's one webhook, too. */
const FIGHT_COUNT = 2;
const FIGHT_MS = 60 * 60_000;

/**
 * What an answer to "what is registered" means (design 8); pure. Every registration makes a new secret, so none is idle:
 * only where nothing of ours is registered, it is not as it should be, or its secret is not known or not believed.
 */
export function judgeSeen(stored: StoredRegistration, seen: Seen, settings: RegistrationSettings): Verdict {
  const { registration, held } = stored;
  const { wanted } = settings;
  const kept = held ? forgetOthers(stored, wanted) : {};
  if (wanted === undefined) {
    if (!held && seen !== 'none' && isOwn(stored, seen, wanted)) return { kind: 'remove', change: {} };
    return settle({ ...kept, state: 'none', error: null });
  }
  const place = placeOf(stored, seen, wanted);
  const good = place === 'ours' && isAsRegistered(stored, seen);
  if (good && registration.state !== 'suspect') {
    return settle({ ...kept, state: 'registered', error: null });
  }
  if (held) return settle({ ...kept, error: HELD });
  if (good) {
    const { suspectAt } = registration;
    if (suspectAt !== null && isLately(suspectAt, AGAIN_MS, stored.now)) return settle({});
    return register(stored, wanted, { suspectAt: stored.now });
  }
  if (mayNotShowYet(stored)) return settle({});
  return orLeave(stored, seen, settings, wanted, place);
}

/** It is not as it should be: registered anew, where that is allowed, no fight, and not refused a moment ago. */
function orLeave(
  stored: StoredRegistration,
  seen: Seen,
  settings: RegistrationSettings,
  wanted: string,
  place: Place,
): Verdict {
  const { registration, now } = stored;
  if (place === 'foreign' && settings.takeover !== 'always') {
    return settle({ state: 'foreign', error: leftAlone(seen, settings.takeover) });
  }
  if (place === 'none' && settings.takeover === 'never' && stored.ownUrls.length === 0) {
    return settle({ state: 'none', error: nothingThere() });
  }
  const recent = registration.replacedAt.filter((at) => isLately(at, FIGHT_MS, now));
  if (registration.state === 'stopped') {
    if (!settings.fresh || recent.length >= FIGHT_COUNT) return settle({ error: STOPPED });
  } else if (wasInForce(registration, wanted)) {
    recent.push(now);
    if (recent.length >= FIGHT_COUNT) return settle({ state: 'stopped', replacedAt: recent, error: STOPPED });
  }
  if (wasRefused(stored, wanted)) return settle({});
  return register(stored, wanted, { replacedAt: recent });
}

/**
 * Whose webhook is there: `ours`: at the URL wanted; `moved`: at another one of ours; `none` also where it is switched
 * off (unknowns.md).
 */
type Place = 'ours' | 'moved' | 'foreign' | 'none';

function placeOf(stored: StoredRegistration, seen: Seen, wanted: string): Place {
  if (seen === 'none' || seen.active === false) return 'none';
  if (leadsTo(stored, seen.url, wanted)) return 'ours';
  return isOwn(stored, seen, wanted) ? 'moved' : 'foreign';
}

/** It is the URL wanted, or how the service spelled it in the answer to the last registration. */
function leadsTo({ registration, ownUrls }: StoredRegistration, url: string, wanted: string): boolean {
  if (sameUrl(url, wanted)) return true;
  if (registration.url === null || !sameUrl(registration.url, wanted)) return false;
  const registeredAt = registration.registeredAt?.getTime();
  return ownUrls.some((own) => own.registeredAt.getTime() === registeredAt && sameUrl(own.url, url));
}

/** Ours is any URL that was ever registered from here, and the one wanted whoever registered it: it leads here. */
function isOwn({ ownUrls }: StoredRegistration, { url }: SeenWebhook, wanted: string | undefined): boolean {
  return (wanted !== undefined && sameUrl(url, wanted)) || ownUrls.some((own) => sameUrl(own.url, url));
}

/** The secret belongs to what is there, as far as can be seen, and every event is delivered. */
function isAsRegistered({ registration }: StoredRegistration, seen: Seen): boolean {
  return (
    seen !== 'none' && hasItsSecret(registration) && deliversAll(seen.eventTypes, registration.eventTypes)
  );
}

/**
 * The secret is that of the present registration: it came with the last request that registers; or that one was
 * refused, and deliveries are still signed with it.
 */
function hasItsSecret({ state, secret, registeringAt, registeredAt, verifiedAt }: Registration): boolean {
  if (secret === null || state === 'registering' || registeredAt === null) return false;
  if (registeringAt === null || registeringAt.getTime() <= registeredAt.getTime()) return true;
  return verifiedAt !== null && verifiedAt.getTime() > registeringAt.getTime();
}

/** Something of ours was there as it should be, and has been changed by somebody else. */
function wasInForce(registration: Registration, wanted: string): boolean {
  const { state, url } = registration;
  if (state !== 'registered' && state !== 'suspect') return false;
  return url !== null && sameUrl(url, wanted) && hasItsSecret(registration);
}

function mayNotShowYet({ registration, now }: StoredRegistration): boolean {
  const { registeredAt } = registration;
  return registeredAt !== null && hasItsSecret(registration) && isLately(registeredAt, EFFECT_MS, now);
}

/** Less than an hour ago the service refused this URL, or gave no secret for it. */
function wasRefused({ registration, now }: StoredRegistration, wanted: string): boolean {
  const { state, url, registeringAt } = registration;
  if (state === 'registering' || registeringAt === null || hasItsSecret(registration)) return false;
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

function settle(change: RegistrationChange): Verdict {
  return { kind: 'settle', change };
}

function register({ now }: StoredRegistration, wanted: string, change: RegistrationChange): Verdict {
  const begun = { state: 'registering', url: wanted, registeringAt: now } as const;
  return { kind: 'register', url: wanted, change: { ...change, ...begun } };
}
