import { ClassifiedError, type Remedy } from '@research-mirror/runtime/errors';

/**
 * A request that a command leaves in Postgres for the running daemon, which carries it out under its lease and its
 * budget: a row of `<schema>_sync.command`.
 *
 *     queued → running → done | failed;  queued or running → cancelled (by the asker)
 */
export interface CommandRequest {
  readonly kind: string;
  /** JSON. */
  readonly arguments: unknown;
  /** Process ID of the daemon that is to carry it out: of several, only the account's owner can. */
  readonly to: string;
}

/** How often (ms) the asker says that it still waits, and how long after the last time it counts as gone. */
export const CLIENT_BEAT_MS = 1_000;
export const CLIENT_VALID_MS = 10_000;

/** Why the daemon did not do a command. */
export class CommandFailed extends ClassifiedError {
  readonly remedy: Remedy;
  constructor(message: string, remedy: Remedy) {
    super(message);
    this.remedy = remedy;
  }
}
