/**
 * Every failure is classified by what the caller must do about it:
 * - `retry`: may pass by itself; ask again later, through the budget
 * - `skip`: this request or walk can't succeed as it stands; go on with others
 * - `stop`: nothing of the work (or of the program) can go on before somebody mends something
 */
export type Remedy = 'retry' | 'skip' | 'stop';

export abstract class ClassifiedError extends Error {
  abstract readonly remedy: Remedy;
  override get name(): string {
    return this.constructor.name;
  }
}

/** The database can't be reached or does not answer in time; what was not committed will be read again. */
export class DatabaseUnavailable extends ClassifiedError {
  readonly remedy = 'retry';
}

/** The user must mend something (configuration, rights, a newer database): the message names the remedy. */
export class Unusable extends ClassifiedError {
  readonly remedy = 'stop';
}
