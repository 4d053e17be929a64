/**
 * Every failure is classified by what the caller must do:
 * - `retry`: it may pass by itself: try again later
 * - `skip`: this task can't succeed as it is: continue with others
 * - `stop`: nothing can continue before somebody repairs something
 */
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

/** The user must repair something (configuration, rights, an old database): the message names the remedy. */
export class Unusable extends ClassifiedError {
  readonly remedy = 'stop';
}
