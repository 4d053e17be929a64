import type { RegistrationState } from './webhook-secrets.ts';

/**
 * Words of an account's webhook registration (docs/design/events.md, "Registration"): `db` keeps it, `webhooks`
 * decides on it; neither imports the other. Moments are by the database's clock.
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
  /** When ours was found replaced, changed or removed by others. */
  readonly replacedAt: readonly Date[];
  /** When a delivery was last signed with `secret`. */
  readonly verifiedAt: Date | null;
  /** Deliveries since then that match no secret; not counted beyond `SUSPECT_MISMATCHES`. */
  readonly mismatches: number;
  /** When it was last registered again because of them. */
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
 * After so many deliveries that match no secret, and none that does, the secret may have been replaced. Anybody can
 * send such deliveries: they are a reason to look, and prove nothing.
 */
export const SUSPECT_MISMATCHES = 3;

/** The secret was replaced if so many changes were not announced, and found by our own reading. */
export const SUSPECT_MISSED = 3;

/**
 * So many changes that nothing announced are a reason to look whether ours is still registered. One or two may be
 * changes of which the service sends no event, or whose event was lost; a look more costs one request.
 */
export const SILENT_CHANGES = 3;

/** For so long (ms) after a new secret, deliveries may be signed with an earlier one: no reason to suspect it. */
export const LATE_DELIVERIES_MS = 10 * 60_000;

/** A moment further ahead than this (ms) is from a clock that has been set back since. */
const AHEAD_MS = 60_000;

/** Less than `ms` ago. A moment of a clock that was set back counts as long ago: nobody waits for it. */
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
   * A registration was accepted. `secret` is undefined where the answer had none: the known one stays. A replaced one is
   * accepted for another 24 h.
   */
  readonly accepted?: { readonly secret: string | undefined };
  /** They are ours from now on. */
  readonly addOwnUrls?: readonly string[];
  /** No other is ours any more. */
  readonly keepOwnUrls?: readonly string[];
}

export interface StoredRegistration {
  readonly registration: Registration;
  readonly ownUrls: readonly OwnUrl[];
  /** The database may be a copy or restored: nothing changes at the service until an operator releases it. */
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
   * Counts changes between these moments, of kinds that the service announces, that our own reading found and no
   * verified delivery announced.
   */
  missed(since: Date, until: Date): Promise<number>;
}
