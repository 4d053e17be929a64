import { createHash } from 'node:crypto';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { UserData } from '../world/user-data.ts';

export interface Webhook {
  readonly url: string;
  /** Hexadecimal; a new one with each registration. */
  readonly secret: string;
  readonly eventTypes: readonly string[] | null;
}

/** A user of the service: its data, its webhook, and what its POST operations cost. */
export class User {
  readonly data: UserData;
  /** Undefined while none is registered. */
  webhook: Webhook | undefined;
  /** Credits that operations used up. */
  spent = 0;
  /** Accepted POST operations: numbers their answers' IDs. */
  operations = 0;
  /** `starting_after` of the last page that each list was asked for, by path; null: it had none. */
  readonly lastCursors = new Map<string, string | null>();
  /** Answers by Idempotency-Key, where the switch honours it. */
  readonly answered = new Map<string, { readonly status: number; readonly body: string }>();
  readonly #options: () => SandboxOptions;
  #registrations = 0;

  constructor(userId: number, epoch: number, options: () => SandboxOptions) {
    this.data = new UserData(userId, epoch, options);
    this.#options = options;
  }

  /** Registers a URL with a new secret (specification 4.2). */
  register(url: string, eventTypes: readonly string[] | null): Webhook {
    this.#registrations += 1;
    const secret = createHash('sha256')
      .update(`${this.#options().seed}/${this.data.userId}/${this.#registrations}`)
      .digest('hex');
    this.webhook = { url, secret, eventTypes };
    return this.webhook;
  }
}
