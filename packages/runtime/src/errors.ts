/** What the caller must do: try again later; leave this task and go on; stop until a person repairs something. */
export type Remedy = 'retry' | 'skip' | 'stop';

export abstract class ClassifiedError extends Error {
  abstract readonly remedy: Remedy;
  override get name(): string {
    return this.constructor.name;
  }
}

/** The database can't be reached, or does not answer in time. */
export class DatabaseUnavailable extends ClassifiedError {
  readonly remedy = 'retry';
}

/** The user must repair something, such as the configuration; the message names the remedy. */
export class Unusable extends ClassifiedError {
  readonly remedy = 'stop';
}
