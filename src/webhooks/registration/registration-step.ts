import type { RegistrationChange } from '../../model/webhook/registration.ts';

/** How an operator wants it, and what this run of the daemon knows. */
export interface RegistrationSettings {
  /** Where deliveries are to come to; undefined: MIRROR_PUBLIC_URL is not set. */
  readonly wanted: string | undefined;
  /** MIRROR_WEBHOOK_TAKEOVER. */
  readonly takeover: 'never' | 'if-empty' | 'always';
  /** The service has not been asked since the account was taken: the settings may have changed. */
  readonly fresh: boolean;
  /** Registrations in a row that got no answer. */
  readonly lost: number;
  /** When it was last checked whether the secret was replaced. */
  readonly weighedAt: Date | undefined;
  /** When it was last counted what no event announced. */
  readonly countedAt: Date | undefined;
  /** So many changes were found by our own reading alone since the last delivery that was right, and since the last look. */
  readonly unannounced: number;
}

/** What to do before the service is asked. */
export type NextStep =
  | { readonly kind: 'wait'; readonly until: Date }
  /** Ask the service what is registered. */
  | { readonly kind: 'look' }
  /** Count changes between these moments that only our own reading found. */
  | { readonly kind: 'weigh'; readonly since: Date; readonly until: Date }
  /** Count changes between these moments, none of which a delivery announced. */
  | { readonly kind: 'count'; readonly since: Date; readonly until: Date }
  /** Store what the receivers' findings mean. */
  | RecordOnly;

/** What to do about the webhook that the service has just shown. */
export type RegistrationVerdict =
  | RecordOnly
  /** Register: the change is committed before the request is written. */
  | { readonly kind: 'register'; readonly url: string; readonly change: RegistrationChange }
  /** Have the service forget our registration. */
  | { readonly kind: 'remove'; readonly change: RegistrationChange };

interface RecordOnly {
  readonly kind: 'record';
  readonly change: RegistrationChange;
}

/** How often (ms) the service is asked what is registered, and how often at most. */
export const CHECK_MS = 15 * 60_000;
export const LEAST_CHECK_MS = 60_000;
/** How often (ms), while receivers give reason, it is checked whether the secret was replaced: it costs a query. */
export const WEIGH_MS = 5 * 60_000;
/** How often (ms) it is counted what no event announced: one look into an index where nothing changed. */
export const COUNT_MS = 60_000;
/** For so long (ms) after a change, its event may still be under way. */
export const UNDER_WAY_MS = 60_000;
/** So long (ms) after the last look, changes that no event announced are a reason for the next one. */
export const SILENT_MS = 3 * 60_000;
/** After a lost answer: by then (ms) the request has taken effect, or never will. Doubled for each further one. */
export const LOST_MS = 60_000;
/** An accepted registration shows by then (ms); what is seen before proves nothing. */
export const EFFECT_MS = 2 * 60_000;
/** Least time (ms) between two registrations or two readings because of mismatches, and after a refusal. */
export const AGAIN_MS = 60 * 60_000;
