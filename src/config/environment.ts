import { statSync } from 'node:fs';
import { messageOf } from '@research-mirror/runtime/message';
import { suggestion } from './suggestion.ts';
import { VARIABLES, type VariableName } from './settings.ts';
import { readTextFile } from './text-file.ts';

/** Names to values, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of each variable of ours that is set, from the environment or from a file, and what was wrong. */
export interface FoundVariables {
  readonly values: ReadonlyMap<VariableName, string>;
  readonly problems: readonly string[];
  /** Variables that are set, but have no text: their file can't be read, or they are set twice. */
  readonly unreadable: readonly VariableName[];
}

/**
 * Reads our variables from `X` and `X_FILE`. An empty value counts as not set: compose files and shells leave such
 * values behind. The path in `X_FILE` is relative to the working directory. The file's text is trimmed: editors end
 * files with a line break.
 */
export function readVariables(env: Environment): FoundVariables {
  const values = new Map<VariableName, string>();
  const problems = unknownNames(env);
  const unreadable: VariableName[] = [];
  const refuse = (name: VariableName, problem: string): void => {
    unreadable.push(name);
    problems.push(problem);
  };
  for (const name of VARIABLES) {
    const direct = textOf(env, name);
    const path = textOf(env, `${name}_FILE`);
    if (path === undefined) {
      if (direct !== undefined) values.set(name, direct);
      continue;
    }
    if (direct !== undefined) {
      refuse(name, `${name}: set, and ${name}_FILE too: remove one of them`);
      continue;
    }
    try {
      // A pipe gives its text once, a terminal when somebody types.
      if (!statSync(path).isFile()) throw new Error('it is not a regular file');
      const content = readTextFile(path).trim();
      if (content === '') refuse(name, `${name}_FILE: ${path} is empty`);
      else values.set(name, content);
    } catch (error) {
      refuse(name, `${name}_FILE: can't be read: ${messageOf(error)}`);
    }
  }
  return { values, problems, unreadable };
}

/** The value of `name` without surrounding white space; undefined where it is not set or empty. */
export function textOf(env: Environment, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === undefined || text === '' ? undefined : text;
}

/** A name with our prefix that is not ours is a slip. Unreported, the default would be used without a word. */
function unknownNames(env: Environment): string[] {
  const known = VARIABLES.flatMap((name) => [name, `${name}_FILE`]);
  return Object.keys(env)
    .filter((name) => /^MIRROR[_\W]/i.test(name) && !known.includes(name))
    .sort()
    .map((name) => `${name}: there is no such variable${suggestion(name.toUpperCase(), known)}`);
}
