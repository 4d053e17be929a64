import type { SandboxOptions } from '../../switches/sandbox-switches.ts';
import { UserData } from '../../world/user-data.ts';
import { Registration, type WebhookCall } from './registration.ts';

/** A user of the service: its data, its webhook, and what its POST operations cost. */
export class User {
  readonly data: UserData;
  readonly registration: Registration;
  /** Credits spent by operations. */
  spent = 0;
  /** Number of accepted POST operations, from which their answers' IDs come. */
  operations = 0;
  /** `starting_after` of the last page request, by path; null: it had none. */
  readonly lastCursors = new Map<string, string | null>();
  /** Answers by Idempotency-Key, where the switch honours it. */
  readonly answered = new Map<string, { readonly status: number; readonly body: string }>();

  /** @param note called for each change of the registration */
  constructor(
    userId: number,
    epoch: number,
    options: () => SandboxOptions,
    note: (call: WebhookCall) => void,
  ) {
    this.data = new UserData(userId, epoch, options);
    this.registration = new Registration(`${options().seed}/${userId}`, note);
  }
}
