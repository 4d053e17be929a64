import { readSettings, type Environment } from './environment.ts';
import { InvalidValue } from './invalid.ts';
import type { VariableName } from './variables.ts';

/** Reads variables one by one. A wrong one is noted and its default stands in, so that all others are read too. */
export class SettingsReader {
  readonly problems: string[];
  readonly #values: ReadonlyMap<VariableName, string>;
  readonly #wrong: Set<VariableName>;

  constructor(env: Environment) {
    const settings = readSettings(env);
    this.#values = settings.values;
    this.#wrong = new Set(settings.unreadable);
    this.problems = [...settings.problems];
  }

  /** Whether somebody set it, rightly or not. */
  isSet(name: VariableName): boolean {
    return this.#values.has(name) || this.#wrong.has(name);
  }

  /** False once a problem of this variable was noted: rules that span variables then have nothing to say. */
  isRight(name: VariableName): boolean {
    return !this.#wrong.has(name);
  }

  /** The variable's value, or `otherwise` where it is not set or wrong. */
  value<T, D>(name: VariableName, parse: (text: string) => T, otherwise: D): T | D {
    const text = this.#values.get(name);
    if (text === undefined) return otherwise;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      this.problem(name, error.message);
      return otherwise;
    }
  }

  problem(name: VariableName, what: string): void {
    this.#wrong.add(name);
    this.problems.push(`${name}: ${what}`);
  }
}
