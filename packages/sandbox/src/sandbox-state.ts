import { ControlError, mutate, type Mutation } from './control/mutation.ts';
import { Memory, type Remembered } from './memory.ts';
import { operate } from './service/operations.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { DataClock } from './data-clock.ts';
import { Publisher } from './events/publisher.ts';
import { parseExact } from './exact-json.ts';
import { seededRandom } from './hash.ts';
import { RateLimiter } from './limits/rate-limiter.ts';
import { User } from './service/account.ts';
import { parseKeys, type SandboxOptions } from './switches/sandbox-switches.ts';
import { NumberedLog, RequestLog, type OperationRecord } from './request-log.ts';
import { Rankings } from './world/ranking.ts';

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
  readonly operations = new NumberedLog<OperationRecord>();
  readonly memory: Memory;
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
    this.memory = new Memory(options.memory);
    this.#keys = this.#owned(options.keys);
    this.users = this.#users;
    // Before anybody looks for events: those of what is repeated were sent.
    this.memory.replay((remembered) => this.#repeat(remembered));
    const random = seededRandom(options.seed + 103);
    this.publisher = new Publisher(clock, this.data, () => this.#options, this.users, random);
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

  #newUser(userId: number): User {
    return new User(
      userId,
      this.#epoch,
      () => this.#options,
      (call) => this.memory.add({ kind: 'webhook', user: userId, ...call }),
    );
  }

  /** Does once more what was asked before the last stop. What can't be done any more, as of a user without a key, is left out. */
  #repeat(remembered: Remembered): void {
    if (remembered.kind === 'clock') {
      this.data.set(this.clock.now() + remembered.aheadMs);
    } else if (remembered.kind === 'mutation') {
      const { kind: _, at, mutation, ...whose } = remembered;
      try {
        mutate(this, { ...(parseExact(mutation) as Mutation), ...whose }, at);
      } catch (error) {
        if (!(error instanceof ControlError)) throw error;
      }
    } else {
      const user = this.#users.get(remembered.user);
      if (user === undefined) return;
      if (remembered.kind === 'webhook') user.registration.repeat(remembered);
      else {
        const { operation, id, body, at } = remembered;
        operate(user, operation, id, body === '' ? undefined : JSON.parse(body), this.#options, at);
      }
    }
  }

  #owned(switched: string): ReadonlyMap<string, KnownKey> {
    const owners = parseKeys(switched);
    if ('problem' in owners) throw new Unusable(`keys: ${owners.problem}`);
    const keys = new Map<string, KnownKey>();
    for (const [number, { key, userId }] of owners.entries()) {
      const user = this.#users.get(userId) ?? this.#newUser(userId);
      this.#users.set(userId, user);
      keys.set(key, { number, user });
    }
    return keys;
  }
}
