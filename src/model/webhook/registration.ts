import type { RegistrationState } from './webhook-secrets.ts';

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
