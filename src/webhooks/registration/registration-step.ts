import type { RegistrationChange } from '../../model/webhook/registration.ts';

/** How an operator wants it, and what this run of the daemon knows. */
export interface RegistrationSettings {
  /** Where deliveries are to come to; undefined: MIRROR_PUBLIC_URL is not set. */
  readonly wanted: string | undefined;
  /** MIRROR_WEBHOOK_TAKEOVER. */
  readonly takeover: 'never' | 'if-empty' | 'always';
  /** Nothing has been looked at yet since the account was taken: the settings may be other ones than before. */
  readonly fresh: boolean;
  /** Registrations in a row that got no answer. */
  readonly lost: number;
  /** When it was last weighed whether the secret was replaced. */
  readonly weighedAt: Date | undefined;
}

/** What to do while nothing has been asked. */
export type NextStep =
  | { readonly kind: 'wait'; readonly until: Date }
  /** Ask the service what is registered. */
  | { readonly kind: 'look' }
  /** Count the changes between these moments that only our own reading found. */
  | { readonly kind: 'weigh'; readonly since: Date; readonly until: Date }
  /** What receivers told means this. */
  | RecordOnly;

/** What to do about what the service has just shown. */
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
/** How often (ms) it is weighed whether the secret was replaced, while receivers give reason to: it costs a query. */
export const WEIGH_MS = 5 * 60_000;
/** After a lost answer: by then the request has taken effect, or never will. Doubled for each one more. */
export const LOST_MS = 60_000;
/** An accepted registration shows by then; until then, what is seen instead of it proves nothing. */
export const EFFECT_MS = 2 * 60_000;
/** Least time between two registrations because of mismatches, two readings because of them, and after a refusal. */
export const AGAIN_MS = 60 * 60_000;
