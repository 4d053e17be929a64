import { countOf } from '@research-mirror/runtime/figures';
import { isLately, MISMATCHES, UNANNOUNCED } from './registration.ts';
import type { Registration, RegistrationChange, Seen } from './registration.ts';
import type { RegistrationOutcome } from './service-calls.ts';

// Decisions about an account's webhook (docs/design/events.md, "Registration", has the counterexamples). Pure.

/** The operator's settings, and what this run of the daemon knows. */
export interface RegistrationSettings {
  /** Target of deliveries; undefined: MIRROR_PUBLIC_URL is not set. */
  readonly wanted: string | undefined;
  readonly takeover: 'never' | 'if-empty' | 'always';
  /** The service has not been asked since the account was taken, so the settings may have changed. */
  readonly fresh: boolean;
  /** Changes without an event since the last valid delivery. */
  readonly unannounced: number;
}

const MINUTE = 60_000;
/** Intervals of requests for the registration, ms: normally, and while something is wrong. */
const CHECK_MS = 60 * MINUTE;
const RETRY_MS = 15 * MINUTE;
/** Time after the last look from which changes without an event cause the next one, ms. */
const SILENT_MS = 3 * MINUTE;
/** Time after a registration request, ms, during which it may yet take effect, so that answers prove nothing. */
const EFFECT_MS = 2 * MINUTE;
/** Time after a change during which its event may still arrive, ms. */
const UNDER_WAY_MS = MINUTE;
/** Least time between two registrations after a refusal or because of signatures, ms. */
const AGAIN_MS = 60 * MINUTE;
/** Replacements within an hour after which another program must want the account's only webhook. */
const FIGHT_COUNT = 2;
const FIGHT_MS = 60 * MINUTE;

/** The change after a valid delivery since the last look; undefined: none. */
export function settledBy(it: Registration): RegistrationChange | undefined {
  const { state, error, verifiedAt, checkedAt } = it;
  if (verifiedAt === null || checkedAt === null || verifiedAt <= checkedAt) return undefined;
  const isContradicted = state === 'suspect' || error?.startsWith(NOTHING_COMES) === true;
  return isContradicted ? { state: 'registered', error: null } : undefined;
}

/** Period in which changes without an event count; undefined: none yet. */
export function silence(it: Registration): { readonly since: Date; readonly until: Date } | undefined {
  const { state, registeredAt, verifiedAt, now } = it;
  if ((state !== 'registered' && state !== 'suspect') || registeredAt === null) return undefined;
  const since = new Date(Math.max(registeredAt.getTime() + EFFECT_MS, verifiedAt?.getTime() ?? 0));
  const until = new Date(now.getTime() - UNDER_WAY_MS);
  return since < until ? { since, until } : undefined;
}

/** Time of the next request for the registration; in the past: now. */
export function lookAt(it: Registration, { wanted, fresh, unannounced }: RegistrationSettings): Date {
  const { state, url, registeringAt, checkedAt, error, onHold, now } = it;
  const mayTakeEffect = state === 'registering' || isSame(url, wanted);
  if (mayTakeEffect && isLately(registeringAt, EFFECT_MS, now)) return later(registeringAt, EFFECT_MS);
  if (fresh) return now;
  const unfinished = wanted !== undefined && !onHold && state === 'registering';
  const silent = unannounced >= UNANNOUNCED ? SILENT_MS : CHECK_MS;
  const every = unfinished ? MINUTE : error === null ? silent : RETRY_MS;
  return isLately(checkedAt, every, now) ? later(checkedAt, every) : now;
}

/**
 * The verdict on the webhook that the service shows. Every registration makes a new secret, so it registers only if
 * ours is missing or changed, or if its secret is unknown or doubtful.
 * @returns `register`: the change is committed before the request is written, and `why` is logged after it
 */
export function decide(it: Registration, seen: Seen, settings: RegistrationSettings) {
  const { state, ownUrls, onHold, now } = it;
  const { wanted, takeover, fresh } = settings;
  const active = seen !== 'none' && seen.active !== false;
  const own = seen !== 'none' && ownUrls.some((url) => sameUrl(url, seen.url));
  // In a copy with another URL, the known ones may be the original's.
  const acceptedHere = ownUrls.some((url) => isSame(url, wanted));
  const forgotten = onHold && !acceptedHere ? { ownUrls: [] } : {};
  if (wanted === undefined) return record({ ...forgotten, state: 'none', error: null });
  const ours = active && (own || sameUrl(seen.url, wanted));
  const asRegistered = ours && acceptedHere && knowsItsSecret(it);
  const believed = it.mismatches < MISMATCHES || settings.unannounced < UNANNOUNCED;
  if (asRegistered && believed) return record({ state: 'registered', error: null });
  if (onHold) return record({ ...forgotten, error: ON_HOLD });
  const replacedAt = it.replacedAt.filter((at) => isLately(at, FIGHT_MS, now));
  const begin = { state: 'registering', url: wanted, registeringAt: now, replacedAt } as const;
  if (asRegistered) {
    if (!isLately(it.registeringAt, AGAIN_MS, now)) return register(begin, SECRET_REPLACED);
    return record({ state: 'suspect', error: SUSPECT_SIGNATURES });
  }
  if (active && !ours && takeover !== 'always') return record({ state: 'foreign', error: leftAlone(seen, takeover) });
  if (!active && takeover === 'never' && ownUrls.length === 0) return record({ state: 'none', error: NOTHING_THERE });
  // While repairs are refused, a change counts once.
  const wasInForce = (state === 'registered' || state === 'suspect') && wasAccepted(it);
  const replaced = wasInForce && acceptedHere;
  if (state === 'stopped') {
    if (!fresh || replacedAt.length >= FIGHT_COUNT) return record({ error: STOPPED });
  } else if (replaced) {
    replacedAt.push(now);
    if (replacedAt.length >= FIGHT_COUNT) return record({ state: 'stopped', replacedAt, error: STOPPED });
  }
  if (wasRefused(it, wanted)) return record({});
  return register(begin, replaced ? RENEWED : undefined);
}

/** The change after a request to register `url`. @param before the state before the claim */
export function afterRequest(
  outcome: RegistrationOutcome,
  url: string,
  before: Registration['state'],
  now: Date,
): RegistrationChange {
  if (outcome.kind === 'accepted') {
    const { secret, seen } = outcome;
    return {
      secret,
      state: 'registered',
      registeringAt: now,
      registeredAt: now,
      // Mismatches concern the registration before.
      mismatches: 0,
      // The service's spelling is ours, too.
      ownUrls: seen === undefined ? [url] : [url, seen.url],
      error: null,
    };
  }
  if (outcome.kind === 'lost') {
    return {
      // The wait begins now, since the request may have taken long.
      registeringAt: now,
      error: `the webhook may not be registered (${outcome.why}): it is checked and registered again`,
    };
  }
  return {
    state: before === 'registering' ? 'none' : before,
    error: `the service refuses to register the webhook: ${outcome.why}. Only polls find changes; registration is retried every hour`,
  };
}

/** Whether the known secret is in force: the last registration gave it, or was refused and deliveries use it still. */
function knowsItsSecret(it: Registration): boolean {
  const { state, secret, registeringAt, verifiedAt } = it;
  if (secret === null || state === 'registering') return false;
  return wasAccepted(it) || (registeringAt !== null && verifiedAt !== null && verifiedAt > registeringAt);
}

/** The last registration request was accepted. */
function wasAccepted({ registeringAt, registeredAt }: Registration): boolean {
  return registeredAt !== null && (registeringAt === null || registeringAt <= registeredAt);
}

/** The service refused this URL less than an hour ago. */
function wasRefused(it: Registration, wanted: string): boolean {
  const { state, url, registeringAt, now } = it;
  if (state === 'registering' || wasAccepted(it)) return false;
  return isSame(url, wanted) && isLately(registeringAt, AGAIN_MS, now);
}

function isSame(url: string | null, wanted: string | undefined): boolean {
  return url !== null && wanted !== undefined && sameUrl(url, wanted);
}

function record(change: RegistrationChange) {
  return { kind: 'record', change, why: undefined } as const;
}

function register(change: RegistrationChange, why: string | undefined) {
  return { kind: 'register', change, why } as const;
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}

// Messages of `status` about an account's webhook, with the remedy. They name only the host of a URL.
export const SUSPECT_SIGNATURES =
  'deliveries have signatures that no known secret explains, and no valid delivery announces the changes: the webhook is registered again, at most hourly. If that does not help, check whether another program registers the same URL, or set MIRROR_WEBHOOK_SCHEME';
export const ON_HOLD =
  'the database was restored or copied: no webhook is registered or removed until you run "research-mirror submissions release"';
export const STOPPED =
  'our webhook was replaced, changed, switched off or removed twice within an hour, so it is left alone: only polls find changes. Check which other program registers webhooks for this account, and whether deliveries reach MIRROR_PUBLIC_URL; then restart';
const NOTHING_THERE =
  'no webhook is registered, because of MIRROR_WEBHOOK_TAKEOVER=never: only polls find changes. Set it to "if-empty", or unset MIRROR_PUBLIC_URL';

export function leftAlone(seen: Seen, takeover: string): string {
  const host = seen === 'none' ? 'no URL' : hostOf(seen.url);
  return `the account's webhook leads to ${host}, and MIRROR_WEBHOOK_TAKEOVER=${takeover} leaves it there: only polls find changes. Set it to "always" to replace that webhook at the next start, or unset MIRROR_PUBLIC_URL`;
}

/** Prefix of messages that a delivery contradicts. */
const NOTHING_COMES = 'it is registered, but ';
const ASTRAY = `${NOTHING_COMES}its deliveries do not get here: `;

/** @param why with the remedy */
export function goAstray(why: string): string {
  return `${ASTRAY}${why}`;
}

export function saysAstray(error: string | null): boolean {
  return error?.startsWith(ASTRAY) === true;
}

/** @param changes found by polls since the last valid delivery */
export function nothingArrives(changes: number): string {
  return `${NOTHING_COMES}no event arrives: ${countOf(changes, 'change')} ${changes === 1 ? 'was' : 'were'} found by polls alone. "research-mirror doctor" checks whether deliveries can reach MIRROR_PUBLIC_URL`;
}

const SECRET_REPLACED =
  'no known secret explains the deliveries, and no valid delivery announced the changes: the webhook is registered again';
const RENEWED = 'our webhook was removed or changed at the service: it is registered again';

/** Whether two URLs are equal apart from letter case, default port and trailing slashes. */
export function sameUrl(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => (URL.parse(text)?.href ?? text).replace(/\/+$/, ''));
  return a === b;
}

/** The part of another program's URL that may be shown: path and query may hold secrets. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'an address that is not a URL';
}
