import { Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { DataClock } from './data-clock.ts';
import { Publisher } from './events/publisher.ts';
import { seededRandom } from './hash.ts';
import { parseKeys } from './keys.ts';
import { RateLimiter } from './limits/rate-limiter.ts';
import { OperationLog } from './service/operation-log.ts';
import { User } from './service/account/user.ts';
import type { SandboxOptions } from './switches/sandbox-switches.ts';
import { RequestLog } from './request-log.ts';
import { Rankings } from './world/kinds/ranking.ts';

export interface KnownKey {
  /** Index in the switch `keys`. */
  readonly number: number;
  readonly user: User;
}

/** The state that the service and the control API share. */
export class SandboxState {
  readonly clock: Clock;
  readonly data: DataClock;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly rateLimiter = new RateLimiter();
  readonly requests = new RequestLog();
  readonly operations = new OperationLog();
  readonly rankings = new Rankings();
  readonly random: () => number;
  /** Every user who ever had a key here. */
  readonly users: ReadonlyMap<number, User>;
  readonly publisher: Publisher;
  #keys: ReadonlyMap<string, KnownKey>;
  #options: SandboxOptions;
  readonly #users = new Map<number, User>();
  readonly #epoch: number;

  constructor(options: SandboxOptions, clock: Clock) {
    this.#options = options;
    this.clock = clock;
    this.startedAt = clock.now();
    this.data = new DataClock(clock);
    this.random = seededRandom(options.seed + 101);
    this.#epoch = options.epoch === 'start' ? this.data.now() : Date.parse(options.epoch);
    this.#keys = this.#owned(options.keys);
    this.users = this.#users;
    this.publisher = new Publisher({
      clock,
      data: this.data,
      options: () => this.#options,
      users: this.users,
      random: seededRandom(options.seed + 103),
    });
  }

  get options(): SandboxOptions {
    return this.#options;
  }

  /** The keys that are valid now. */
  get keys(): ReadonlyMap<string, KnownKey> {
    return this.#keys;
  }

  /**
   * Changes the options for all later answers. A key may get another owner, or become invalid.
   */
  change(options: SandboxOptions): void {
    if (options.keys !== this.#options.keys) this.#keys = this.#owned(options.keys);
    this.#options = options;
    this.rankings.clear();
  }

  #owned(switched: string): ReadonlyMap<string, KnownKey> {
    const owners = parseKeys(switched);
    if ('problem' in owners) throw new Unusable(`keys: ${owners.problem}`);
    const keys = new Map<string, KnownKey>();
    for (const [number, { key, userId }] of owners.entries()) {
      const user = this.#users.get(userId) ?? new User(userId, this.#epoch, () => this.#options);
      this.#users.set(userId, user);
      keys.set(key, { number, user });
    }
    return keys;
  }
}
