import { ClassifiedError } from '@research-mirror/runtime/errors';

/** Why a value is not legal, to follow the variable's name and a colon. Never quotes a secret. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

/** The environment as it stands can't be used: every problem of it, each beginning with a variable's name. */
export class InvalidConfig extends ClassifiedError {
  readonly remedy = 'stop';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `the configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n` +
        problems.map((problem) => `  ${problem}`).join('\n'),
    );
    this.problems = problems;
  }
}
