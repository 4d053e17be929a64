/**
 * An account's webhook registration (docs/design/events.md, "Registration"): `db` keeps it, `webhooks` decides on it;
 * neither imports the other. Moments are by the database's clock. It holds a secret: in no log, error or answer.
 */
export interface Registration {
  readonly state: RegistrationState;
  /** What was sent with the last request that registers; null: there was none. */
  readonly url: string | null;
  readonly secret: string | null;
  /** When the last request that registers was sent: in state `registering` it may be under way. */
  readonly registeringAt: Date | null;
  /** When the last one that was accepted was answered. */
  readonly registeredAt: Date | null;
  /** When the service was last asked what is registered. */
  readonly checkedAt: Date | null;
  /** When ours was found replaced, changed or removed by others. */
  readonly replacedAt: readonly Date[];
  /** When a delivery was last signed with `secret`. */
  readonly verifiedAt: Date | null;
  /** Deliveries since then that match no secret; not counted beyond `MISMATCHES`. */
  readonly mismatches: number;
  /** What an operator should know, with the remedy. */
  readonly error: string | null;
  /** The URL of the last accepted registration, and the service's spelling of it. */
  readonly ownUrls: readonly string[];
  /** The database may be a copy or restored: nothing changes at the service until an operator releases it. */
  readonly onHold: boolean;
  readonly now: Date;
}

/** What a transaction changes of a registration; what is left out stays. A new secret replaces the known one. */
export type RegistrationChange = Partial<Omit<Registration, 'verifiedAt' | 'onHold' | 'now'>>;

/** The registration of one account, for its owner. @throws DatabaseUnavailable */
export interface RegistrationStore {
  load(): Promise<Registration>;
  /**
   * One fenced transaction; with `seen` it also makes the row of the table `webhook` true.
   * @param change gets the transaction's time
   * @throws LeaseLost
   */
  save(change: (now: Date) => RegistrationChange, seen?: Seen): Promise<void>;
  /** Counts changes into a finished state between these moments that our own reading found and no event announced. */
  unannounced(since: Date, until: Date): Promise<number>;
}

/** The webhook as the service shows it (specification 2.3). */
export interface SeenWebhook {
  readonly url: string;
  /** Null: not said. */
  readonly active: boolean | null;
  /** The object's JSON text, without its secret. */
  readonly source: string;
}

/** What is registered: `none`, or whatever the service shows. */
export type Seen = SeenWebhook | 'none';

/**
 * So many deliveries that match no secret, and so many changes that no event announced, both since the last delivery
 * that was right, show that the secret was replaced. Anybody can send such deliveries: alone they prove nothing.
 * One or two changes may be such of which the service sends no event, or whose event was lost.
 */
export const MISMATCHES = 3;
export const UNANNOUNCED = 3;

/** A moment further ahead than this (ms) is from a clock that has been set back since. */
const AHEAD_MS = 60_000;

/** Less than `ms` ago. A moment of a clock that was set back counts as long ago: nobody waits for it. */
export function isLately(at: Date | null, ms: number, now: Date): at is Date {
  if (at === null) return false;
  const age = now.getTime() - at.getTime();
  return age < ms && age > -AHEAD_MS;
}

/**
 * States of an account's webhook registration:
 * - `none`: nothing of ours is registered
 * - `registering`: a request that registers may be under way
 * - `registered`: deliveries come to us
 * - `foreign`: somebody else's URL is registered, and stays
 * - `suspect`: signatures stopped matching; to be registered again
 * - `stopped`: others replace our URL again and again: somebody has to decide
 */
export const REGISTRATION_STATES = [
  'none',
  'registering',
  'registered',
  'foreign',
  'suspect',
  'stopped',
] as const;

export type RegistrationState = (typeof REGISTRATION_STATES)[number];

/** What an account's deliveries are verified with. Secrets: in no log, error or answer. */
export interface StoredSecrets {
  /** Undefined: none is known yet. */
  readonly current: StoredSecret | undefined;
  /** Deliveries signed before the last registration may still be under way. */
  readonly previous:
    | {
        readonly secret: string;
        /** Not accepted from then on. */
        readonly until: Date;
      }
    | undefined;
  readonly state: RegistrationState;
  /** The database's time. The moments here are by its clock, whatever this machine's clock says. */
  readonly now: Date;
}

interface StoredSecret {
  readonly secret: string;
  /** When it came. */
  readonly since: Date;
}

/** What a receiver needs of the accounts: any process may receive for all of them. */
export interface ReceivingAccounts {
  /**
   * `none`: there is no such account; `unknown-yet`: no ping has named the accounts yet.
   * @param fresh false: the answer may be up to two seconds old; true after a signature that did not match
   */
  secretsOf(userId: string, fresh: boolean): Promise<StoredSecrets | 'none' | 'unknown-yet'>;
  /** A delivery's signature was right. */
  verified(userId: string, secret: string): Promise<void>;
  /** A delivery that looks like one of the service's had a signature that no secret explains. */
  mismatched(userId: string): Promise<void>;
}
