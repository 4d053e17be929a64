import { ClassifiedError } from '@research-mirror/runtime/errors';
import leven from 'leven';

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

/** ` (did you mean X?)` for the one of the words nearest to `name`, or '' where none is near. */
export function suggestion(name: string, words: readonly string[]): string {
  const [near] = words
    .map((word) => ({ word, distance: leven(name, word) }))
    .filter(({ word, distance }) => distance <= Math.max(2, Math.floor(word.length / 4)))
    .toSorted((a, b) => a.distance - b.distance);
  return near === undefined ? '' : ` (did you mean ${near.word}?)`;
}
