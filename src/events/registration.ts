/**
 * An account's webhook registration (docs/design/events.md, "Registration"). Moments are by the database's clock. It
 * holds a secret: keep it out of logs, errors and answers.
 */
export interface Registration {
  readonly state: RegistrationState;
  /** URL of the last registration request; null: none was sent. */
  readonly url: string | null;
  readonly secret: string | null;
  /** Time of the last registration request; in state `registering` it may still be under way. */
  readonly registeringAt: Date | null;
  /** Time of the answer to the last accepted one. */
  readonly registeredAt: Date | null;
  /** Time of the last request for what is registered. */
  readonly checkedAt: Date | null;
  /** Times at which ours was found replaced, changed or removed by others. */
  readonly replacedAt: readonly Date[];
  /** Time of the last delivery signed with `secret`. */
  readonly verifiedAt: Date | null;
  /** Later deliveries that match no secret, counted up to `MISMATCHES`. */
  readonly mismatches: number;
  /** A message for the operator, with the remedy. */
  readonly error: string | null;
  /** The URL of the last accepted registration, and the service's spelling of it. */
  readonly ownUrls: readonly string[];
  /** The database may be a copy or restored: nothing changes at the service until an operator releases it. */
  readonly onHold: boolean;
  readonly now: Date;
}

/** A transaction's change of a registration; left-out fields stay. A new secret replaces the known one. */
export type RegistrationChange = Partial<Omit<Registration, 'verifiedAt' | 'onHold' | 'now'>>;

/** The webhook as the service shows it (specification 2.3); `none`: nothing is registered. */
export type Seen =
  | 'none'
  | {
      readonly url: string;
      /** Null: not said. */
      readonly active: boolean | null;
      /** The object's JSON text, without its secret. */
      readonly source: string;
    };

/**
 * Deliveries that match no secret, and changes that no event announced, both since the last valid delivery, from which
 * the secret must have been replaced. Anyone can send such deliveries, so they prove nothing alone. The service may
 * send no event for one or two changes, or their events were lost.
 */
export const MISMATCHES = 3;
export const UNANNOUNCED = 3;

/** A moment further ahead than this (ms) comes from a clock that was set back since. */
const AHEAD_MS = 60_000;

/** Whether `at` is less than `ms` ago. A moment of a clock that was set back counts as long ago. */
export function isLately(at: Date | null, ms: number, now: Date): at is Date {
  if (at === null) return false;
  const age = now.getTime() - at.getTime();
  return age < ms && age > -AHEAD_MS;
}

/**
 * States of an account's webhook registration:
 * - `none`: nothing of ours is registered
 * - `registering`: a registration request may be under way
 * - `registered`: deliveries come to us
 * - `foreign`: another program's URL is registered, and stays
 * - `suspect`: signatures stopped matching; to be registered again
 * - `stopped`: others replace our URL repeatedly: an operator has to decide
 */
export const REGISTRATION_STATES = ['none', 'registering', 'registered', 'foreign', 'suspect', 'stopped'] as const;
export type RegistrationState = (typeof REGISTRATION_STATES)[number];

/** A stored state; `none` if there is no row or this version does not know the state. */
export function registrationState(text: string | null | undefined): RegistrationState {
  return REGISTRATION_STATES.find((state) => state === text) ?? 'none';
}
