import type { RegistrationState } from './webhook-secrets.ts';

/**
 * Words of an account's webhook registration (docs/design/events.md, "Registration"): `db` keeps it, `webhooks` decides on it; neither knows the
 * other. Moments are by the database's clock.
 */

/** What is stored of an account's registration. It holds a secret: in no log, error or answer. */
export interface Registration {
  readonly state: RegistrationState;
  /** What was sent with the last request that registers; null: there was none. */
  readonly url: string | null;
  /** Event types as that request was answered, or as sent; null: all. */
  readonly eventTypes: readonly string[] | null;
  readonly secret: string | null;
  /** When the last request that registers was sent: in state `registering` it may be under way. */
  readonly registeringAt: Date | null;
  /** When the last one that was accepted was answered. */
  readonly registeredAt: Date | null;
  /** When the service was last asked what is registered. */
  readonly checkedAt: Date | null;
  /** When others were found to have replaced, changed or removed what is ours. */
  readonly replacedAt: readonly Date[];
  /** When a delivery was last signed with `secret`. */
  readonly verifiedAt: Date | null;
  /** Deliveries since then that no secret explains; not counted beyond `SUSPECT_MISMATCHES`. */
  readonly mismatches: number;
  /** When it was last registered anew because of them. */
  readonly suspectAt: Date | null;
  /** What an operator should know, with the remedy. */
  readonly error: string | null;
}

export const UNREGISTERED: Registration = {
  state: 'none',
  url: null,
  eventTypes: null,
  secret: null,
  registeringAt: null,
  registeredAt: null,
  checkedAt: null,
  replacedAt: [],
  verifiedAt: null,
  mismatches: 0,
  suspectAt: null,
  error: null,
};

/**
 * So many deliveries that no secret explains, and none that one does: the secret may have been replaced. Or somebody
 * sends anything: they are a reason to look, and prove nothing.
 */
export const SUSPECT_MISMATCHES = 3;

/** So many changes that should have been announced since then, and were found by our own reading: it was replaced. */
export const SUSPECT_MISSED = 3;

/** For so long (ms) after a new secret, deliveries come that are signed with one before it: no reason to suspect it. */
export const LATE_DELIVERIES_MS = 10 * 60_000;

/** A moment further ahead than this (ms) was told by a clock that has been set back since. */
const AHEAD_MS = 60_000;

/** Less than `ms` ago; a moment of a clock that was set back is long ago, or one would wait for it for ever. */
export function isLately(at: Date, ms: number, now: Date): boolean {
  const age = now.getTime() - at.getTime();
  return age < ms && age > -AHEAD_MS;
}

/** A URL that was once registered for the account from here, and when it last was. */
export interface OwnUrl {
  readonly url: string;
  readonly registeredAt: Date;
}

/** The webhook as the service shows it (specification 2.3). */
export interface SeenWebhook {
  readonly url: string;
  /** Null: not said. */
  readonly active: boolean | null;
  /** Null: all, or nothing that can be read as a list of types. */
  readonly eventTypes: readonly string[] | null;
  /** The object's JSON text, without its secret. */
  readonly source: string;
}

/** What is registered: `none`, or whatever the service shows. */
export type Seen = SeenWebhook | 'none';

/** What a transaction changes of a registration; what is left out stays. */
export interface RegistrationChange extends Partial<
  Pick<
    Registration,
    | 'state'
    | 'url'
    | 'eventTypes'
    | 'registeringAt'
    | 'registeredAt'
    | 'checkedAt'
    | 'replacedAt'
    | 'suspectAt'
    | 'error'
  >
> {
  /**
   * A registration was accepted: what was learnt of the signatures before is over. `secret` is its secret; undefined:
   * the answer held none, and the one that is known stays. One that is replaced is accepted for another 24 h.
   */
  readonly accepted?: {
    readonly secret: string | undefined;
    /** But for the scheme: it is the same service, whose deliveries were verified a short while ago. */
    readonly keepScheme?: true;
  };
  /** They are ours from now on. */
  readonly addOwnUrls?: readonly string[];
  /** No other is ours any more. */
  readonly keepOwnUrls?: readonly string[];
}

export interface StoredRegistration {
  readonly registration: Registration;
  readonly ownUrls: readonly OwnUrl[];
  /** The database may be a copy or a restored one: nothing is changed at the service until an operator releases it. */
  readonly onHold: boolean;
  readonly now: Date;
}

/** The registration of one account, for its owner. @throws DatabaseUnavailable */
export interface RegistrationStore {
  load(): Promise<StoredRegistration>;
  /**
   * One fenced transaction; with `seen` it also makes the row of the table `webhook` true.
   * @param change gets the transaction's time
   * @throws LeaseLost
   */
  save(change: (now: Date) => RegistrationChange, seen?: Seen): Promise<void>;
  /**
   * Changes of kinds that the service announces, between these moments, which our own reading found and no verified
   * delivery told of.
   */
  missed(since: Date, until: Date): Promise<number>;
}
