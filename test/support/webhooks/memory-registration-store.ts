import {
  type OwnUrl,
  type Registration,
  type RegistrationStore,
  type Seen,
  LATE_DELIVERIES_MS,
  SUSPECT_MISMATCHES,
  UNREGISTERED,
} from '../../../src/model/webhook/registration.ts';
import type { Clock } from '@research-mirror/runtime/clock';

/** A registration in memory, as db/webhook-store.ts keeps it and receivers write to it. */
export class MemoryRegistrationStore implements RegistrationStore {
  registration: Registration = UNREGISTERED;
  ownUrls: readonly OwnUrl[] = [];
  onHold = false;
  /** The row of the table `webhook`. */
  row: Seen = 'none';
  previousSecret: string | null = null;
  /** Changes that the service announced, and whether a verified delivery announced them; our own reading found them all. */
  readonly changes: { readonly at: Date; readonly told: boolean }[] = [];
  /** Thrown by the next transaction. */
  failNext: Error | undefined;
  readonly #clock: Clock;
  #secretAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async load(): ReturnType<RegistrationStore['load']> {
    const { registration, ownUrls, onHold } = this;
    return { registration, ownUrls, onHold, now: this.#now() };
  }

  async save(...[change, seen]: Parameters<RegistrationStore['save']>): Promise<void> {
    const { failNext } = this;
    this.failNext = undefined;
    if (failNext !== undefined) throw failNext;
    const now = this.#now();
    const { accepted, addOwnUrls, keepOwnUrls, ...columns } = change(now);
    if (keepOwnUrls !== undefined) {
      this.ownUrls = this.ownUrls.filter(({ url }) => keepOwnUrls.includes(url));
    }
    for (const url of addOwnUrls ?? []) {
      this.ownUrls = [...this.ownUrls.filter((own) => own.url !== url), { url, registeredAt: now }];
    }
    if (accepted !== undefined) {
      this.registration = { ...this.registration, mismatches: 0 };
      if (accepted.secret !== undefined && accepted.secret !== this.registration.secret) {
        this.previousSecret = this.registration.secret;
        this.registration = { ...this.registration, secret: accepted.secret };
        this.#secretAt = now.getTime();
      }
    }
    this.registration = { ...this.registration, ...columns };
    if (seen !== undefined) this.row = seen;
  }

  async missed(since: Date, until: Date): Promise<number> {
    return this.changes.filter(({ at, told }) => !told && at > since && at <= until).length;
  }

  /** A delivery signed with `secret`, as a receiver judges it. @returns whether it was verified */
  deliver(secret: string): boolean {
    const { registration } = this;
    if (secret === registration.secret) {
      this.registration = { ...registration, verifiedAt: this.#now(), mismatches: 0 };
      return true;
    }
    if (secret === this.previousSecret) return true;
    if (registration.secret === null || this.#now().getTime() - this.#secretAt < LATE_DELIVERIES_MS)
      return false;
    const mismatches = Math.min(SUSPECT_MISMATCHES, registration.mismatches + 1);
    this.registration = { ...registration, mismatches };
    return false;
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }
}
