import { countOf } from '@research-mirror/runtime/figures';
import {
  isLately,
  MISMATCHES,
  type Registration,
  type RegistrationChange,
  type RegistrationState,
  type Seen,
  UNANNOUNCED,
} from './registration.ts';
import type { RegistrationOutcome } from './service-calls.ts';

/**
 * What to do about an account's webhook (docs/design/events.md, "Registration"): pure. The counterexamples behind the
 * rules are there.
 */

/** How an operator wants it, and what this run of the daemon knows. */
export interface RegistrationSettings {
  /** Where deliveries are to come to; undefined: MIRROR_PUBLIC_URL is not set. */
  readonly wanted: string | undefined;
  /** MIRROR_WEBHOOK_TAKEOVER. */
  readonly takeover: 'never' | 'if-empty' | 'always';
  /** The service has not been asked since the account was taken: the settings may have changed. */
  readonly fresh: boolean;
  /** Changes that no event announced, since the last delivery that was right. */
  readonly unannounced: number;
}

const MINUTE = 60_000;
/** How often (ms) the service is asked what is registered: where all is well, and where something is wrong. */
const CHECK_MS = 60 * MINUTE;
const RETRY_MS = 15 * MINUTE;
/** So long (ms) after the last look, changes that no event announced are a reason for the next one. */
const SILENT_MS = 3 * MINUTE;
/** For so long (ms) after a request that registers, what the service shows proves nothing: it may yet take effect. */
const EFFECT_MS = 2 * MINUTE;
/** For so long (ms) after a change, its event may still be under way. */
const UNDER_WAY_MS = MINUTE;
/** Least time (ms) between two registrations after a refusal, or because of signatures. */
const AGAIN_MS = 60 * MINUTE;
/** Replaced twice within an hour (ms): another program wants the account's one webhook, too. */
const FIGHT_COUNT = 2;
const FIGHT_MS = 60 * MINUTE;

/** What a delivery that was right since the last look settles; undefined: nothing. */
export function settledBy({
  state,
  error,
  verifiedAt,
  checkedAt,
}: Registration): RegistrationChange | undefined {
  if (verifiedAt === null || checkedAt === null || verifiedAt <= checkedAt) return undefined;
  return state === 'suspect' || saysNothingComes(error) ? { state: 'registered', error: null } : undefined;
}

/** Between which moments it counts what no event announced; undefined: nothing says anything yet. */
export function silence(it: Registration): { readonly since: Date; readonly until: Date } | undefined {
  const { state, registeredAt, verifiedAt, now } = it;
  if ((state !== 'registered' && state !== 'suspect') || registeredAt === null) return undefined;
  const since = new Date(Math.max(registeredAt.getTime() + EFFECT_MS, verifiedAt?.getTime() ?? 0));
  const until = new Date(now.getTime() - UNDER_WAY_MS);
  return since < until ? { since, until } : undefined;
}

/** When the service is asked next what is registered; a moment that has passed: now. */
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

/** `register`: the change is committed before the request is written. */
export interface Verdict {
  readonly kind: 'record' | 'register';
  readonly change: RegistrationChange;
  /** What the log says once it is registered. */
  readonly why?: string | undefined;
}

/**
 * What to do about the webhook that the service shows. Every registration makes a new secret, so there is one only
 * where ours is missing or changed, or its secret is unknown or not believed.
 */
export function judge(it: Registration, seen: Seen, settings: RegistrationSettings): Verdict {
  const { state, ownUrls, onHold, now } = it;
  const { wanted, takeover, fresh } = settings;
  const active = seen !== 'none' && seen.active !== false;
  const own = seen !== 'none' && ownUrls.some((url) => sameUrl(url, seen.url));
  // Where a copy's URL is another, the known ones may be the original's.
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
    if (!isLately(it.registeringAt, AGAIN_MS, now))
      return { kind: 'register', change: begin, why: SECRET_REPLACED };
    return record({ state: 'suspect', error: SUSPECT_SIGNATURES });
  }
  if (active && !ours && takeover !== 'always')
    return record({ state: 'foreign', error: leftAlone(seen, takeover) });
  if (!active && takeover === 'never' && ownUrls.length === 0)
    return record({ state: 'none', error: NOTHING_THERE });
  const replaced = wasInForce(it) && acceptedHere;
  if (state === 'stopped') {
    if (!fresh || replacedAt.length >= FIGHT_COUNT) return record({ error: STOPPED });
  } else if (replaced) {
    replacedAt.push(now);
    if (replacedAt.length >= FIGHT_COUNT) return record({ state: 'stopped', replacedAt, error: STOPPED });
  }
  if (wasRefused(it, wanted)) return record({});
  return { kind: 'register', change: begin, why: replaced ? RENEWED : undefined };
}

/** What to store after a request to register `url`. @param before the state before it was claimed */
export function afterRequest(
  outcome: RegistrationOutcome,
  url: string,
  before: RegistrationState,
  now: Date,
): RegistrationChange {
  if (outcome.kind === 'accepted') {
    const { secret, seen } = outcome;
    return {
      secret,
      state: 'registered',
      registeringAt: now,
      registeredAt: now,
      // Mismatches are about the registration before.
      mismatches: 0,
      // The service's spelling is ours, too.
      ownUrls: seen === undefined ? [url] : [url, seen.url],
      error: null,
    };
  }
  if (outcome.kind === 'lost') {
    return {
      // The wait begins now: the request may have been under way for long.
      registeringAt: now,
      error: `the webhook is not known to be registered (${outcome.why}): it is looked at, and registered again`,
    };
  }
  return {
    state: before === 'registering' ? 'none' : before,
    error: `the service refuses to register the webhook: ${outcome.why}. Only polls find changes; tried again hourly`,
  };
}

/**
 * The secret is that of the present registration: it came with the last request that registers; or that request was
 * refused, and deliveries are still signed with it.
 */
function knowsItsSecret(it: Registration): boolean {
  const { state, secret, registeringAt, verifiedAt } = it;
  if (secret === null || state === 'registering') return false;
  return wasAccepted(it) || (registeringAt !== null && verifiedAt !== null && verifiedAt > registeringAt);
}

/** The last request that registers was accepted. */
function wasAccepted({ registeringAt, registeredAt }: Registration): boolean {
  return registeredAt !== null && (registeringAt === null || registeringAt <= registeredAt);
}

/** Ours was registered as it should be. While repairs are refused, a change is still the same one, not a second. */
function wasInForce(it: Registration): boolean {
  return (it.state === 'registered' || it.state === 'suspect') && wasAccepted(it);
}

/** Less than an hour ago the service refused this URL. */
function wasRefused(it: Registration, wanted: string): boolean {
  const { state, url, registeringAt, now } = it;
  if (state === 'registering' || wasAccepted(it)) return false;
  return isSame(url, wanted) && isLately(registeringAt, AGAIN_MS, now);
}

function isSame(url: string | null, wanted: string | undefined): boolean {
  return url !== null && wanted !== undefined && sameUrl(url, wanted);
}

function record(change: RegistrationChange): Verdict {
  return { kind: 'record', change };
}

function later(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms);
}

/** What `status` says where something is wrong with an account's webhook, with the remedy. Of URLs it names the host. */

export const SUSPECT_SIGNATURES =
  'deliveries come with signatures that no known secret explains, and what changes is announced by none that is right: the webhook is registered again, at most hourly. If that does not help, see whether another program registers the same URL, or set MIRROR_WEBHOOK_SCHEME';

export const ON_HOLD =
  'the database was restored or copied: no webhook is registered or removed until "research-mirror submissions release"';

export const STOPPED =
  'our webhook was replaced, changed, switched off or removed twice within an hour, so it is left alone: only polls find changes. See which other program registers webhooks for this account (or whether deliveries reach MIRROR_PUBLIC_URL), then restart';

const NOTHING_THERE =
  'no webhook is registered, and MIRROR_WEBHOOK_TAKEOVER=never registers none: only polls find changes. Set it to "if-empty", or unset MIRROR_PUBLIC_URL';

export function leftAlone(seen: Seen, takeover: string): string {
  const host = seen === 'none' ? 'nobody' : hostOf(seen.url);
  return `the account's webhook leads to ${host}, and MIRROR_WEBHOOK_TAKEOVER=${takeover} leaves it there: only polls find changes. Set it to "always" to replace that one with the next start, or unset MIRROR_PUBLIC_URL`;
}

/** How messages begin that a delivery contradicts. */
const NOTHING_COMES = 'it is registered, but ';
const ASTRAY = `${NOTHING_COMES}its deliveries do not get here: `;

/** @param why with the remedy */
export function goAstray(why: string): string {
  return `${ASTRAY}${why}. Until then only polls find changes`;
}

export function saysAstray(error: string | null): boolean {
  return error?.startsWith(ASTRAY) === true;
}

/** @param changes found by our own reading since the last delivery that was right */
export function nothingArrives(changes: number): string {
  return `${NOTHING_COMES}no event arrives: ${countOf(changes, 'change')} ${changes === 1 ? 'was' : 'were'} found by polls alone. "research-mirror doctor" looks whether deliveries can reach MIRROR_PUBLIC_URL`;
}

function saysNothingComes(error: string | null): boolean {
  return error?.startsWith(NOTHING_COMES) === true;
}

const SECRET_REPLACED =
  'no known secret explains the deliveries, and what changed was announced by none that is right: the webhook is registered again';

const RENEWED = 'our webhook was removed or changed at the service: it is registered again';

/** Whether two URLs name the same address, however a service spells it: letter case, default port, slashes at the end. */
export function sameUrl(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => (URL.parse(text)?.href ?? text).replace(/\/+$/, ''));
  return a === b;
}

/** What may be shown of somebody else's URL: path and query may hold secrets. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'an address that is no URL';
}
