import { readFileSync } from 'node:fs';
import { messageOf } from '@research-mirror/runtime/message';
import { suggestion } from './suggestion.ts';
import { VARIABLES, type VariableName } from './variables.ts';

/** Names to values, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Text of each variable that is set, wherever it came from; and what was wrong on the way. */
export interface Settings {
  readonly values: ReadonlyMap<VariableName, string>;
  readonly problems: readonly string[];
  /** Variables that are set, but whose text could not be had. */
  readonly unreadable: readonly VariableName[];
}

/**
 * Collects our variables from `X` and `X_FILE`. An empty value counts as not set, as compose files and shells
 * leave them behind. An `X_FILE` is read relative to the working directory and trimmed: editors end files with a
 * line break.
 */
export function readSettings(env: Environment): Settings {
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
      const content = readFileSync(path, 'utf8').trim();
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

/** A name with our prefix that means nothing is a slip whose default would be taken silently. */
function unknownNames(env: Environment): string[] {
  const known = VARIABLES.flatMap((name) => [name, `${name}_FILE`]);
  return Object.keys(env)
    .filter((name) => /^MIRROR_/i.test(name) && !known.includes(name))
    .sort()
    .map((name) => `${name}: there is no such variable${suggestion(name.toUpperCase(), known)}`);
}
