import { ClassifiedError } from '@research-mirror/runtime/errors';

/** Says why a value is not legal. The variable's name and a colon come before it. Never quotes a secret. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

/** @throws InvalidValue that quotes the text, which is no secret */
export function refuse(text: string, why: string): never {
  throw new InvalidValue(`${JSON.stringify(text)} ${why}`);
}

/** The environment can't be used. Lists every problem; each begins with a variable's name. */
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
