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

export interface StoredSecret {
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
