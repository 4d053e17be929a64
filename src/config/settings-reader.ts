import type { CollectionName } from '../model/collections.ts';
import { readVariables, type Environment } from './environment.ts';
import { InvalidValue } from './invalid.ts';
import {
  ofCollection,
  SETTINGS,
  type PerCollection,
  type Setting,
  type SettingName,
  type ValueOf,
  type VariableName,
} from './settings.ts';

/** Reads settings one by one. Notes a wrong one as a problem and goes on with its default: all problems are found. */
export class SettingsReader {
  readonly problems: string[];
  readonly #values: ReadonlyMap<VariableName, string>;
  readonly #wrong: Set<VariableName>;

  constructor(env: Environment) {
    const found = readVariables(env);
    this.#values = found.values;
    this.#wrong = new Set(found.unreadable);
    this.problems = [...found.problems];
  }

  /** Whether it is set, to a right value or a wrong one. */
  isSet(name: VariableName): boolean {
    return this.#values.has(name) || this.#wrong.has(name);
  }

  /** False once it has a problem: rules between settings then leave it out. */
  isRight(name: VariableName): boolean {
    return !this.#wrong.has(name);
  }

  /** The setting's value; its default where it is not set or wrong. */
  value<N extends SettingName>(name: N): ValueOf<N> {
    const { parse, default: text }: Setting = SETTINGS[name];
    const otherwise = text === undefined ? undefined : parse(text);
    return this.#parsed(name, parse, otherwise) as ValueOf<N>;
  }

  /** The setting's value for one collection; `otherwise`, where none of its own is set, or a wrong one. */
  valueFor(collection: CollectionName, name: PerCollection, otherwise: string): string {
    return this.#parsed(ofCollection(name, collection), SETTINGS[name].parse, otherwise);
  }

  #parsed<T>(name: VariableName, parse: (text: string) => T, otherwise: T): T {
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
