import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { messageOf } from '@research-mirror/runtime/message';
import { InvalidValue, splitList, suggestion } from './parse-values.ts';
import { ALL_SETTINGS, type Read, STANDARD_VARIABLES, VARIABLES, type Variable } from './settings.ts';

/** Like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The trimmed value of `name`; undefined if it is not set or empty. */
export function textOf(env: Environment, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === undefined || text === '' ? undefined : text;
}

/**
 * Our variables as `X` or `X_FILE` sets them, and their problems. An empty value counts as not set: compose files and
 * shells leave such values behind. The path in `X_FILE` is relative to the working directory, and the file's text is
 * trimmed.
 */
export class Variables {
  readonly problems: string[];
  /** Right values and wrong ones. */
  readonly texts = new Map<string, string>();
  /** Names with a problem: rules between settings skip them. */
  readonly wrong = new Set<string>();

  constructor(env: Environment) {
    this.problems = unknownNames(env);
    for (const name of VARIABLES) {
      const direct = textOf(env, name);
      const path = textOf(env, `${name}_FILE`);
      if (direct !== undefined) this.texts.set(name, direct);
      if (path === undefined) continue;
      if (direct !== undefined) this.problem(name, `${name}_FILE is set too. Remove one of them.`);
      else this.#readFile(name, path);
    }
  }

  #readFile(name: string, path: string): void {
    try {
      // A pipe gives its text only once; a terminal waits for input.
      if (!statSync(path).isFile()) throw new Error('it is not a regular file');
      const content = readTextFile(path).trim();
      if (content === '') this.problem(name, `${path} is empty`, `${name}_FILE`);
      else this.texts.set(name, content);
    } catch (error) {
      this.problem(name, `can't be read: ${messageOf(error)}`, `${name}_FILE`);
    }
  }

  /** Whether it is set, even to a file that can't be used. */
  isSet(name: string): boolean {
    return this.texts.has(name) || this.wrong.has(name);
  }

  problem(name: string, what: string, spelling = name): void {
    this.wrong.add(name);
    this.problems.push(`${spelling}: ${what}`);
  }

  /** Adds a problem for a wrong value and gives `otherwise`, so that all problems are found. */
  readonly read: Read = (name, parse, otherwise) => {
    const text = this.texts.get(name);
    if (text === undefined || this.wrong.has(name)) return otherwise;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      this.problem(name, error.message);
      return otherwise;
    }
  };
}

/** Problems of misspelled names: without them the default would be used silently. */
function unknownNames(env: Environment): string[] {
  const known = VARIABLES.flatMap((name) => [name, `${name}_FILE`]);
  return Object.keys(env)
    .filter((name) => /^MIRROR[_\W]/i.test(name) && !known.includes(name))
    .sort()
    .map((name) => `${name}: unknown variable${suggestion(name.toUpperCase(), known)}`);
}

/** More than any setting needs: `/dev/zero` has no end. */
const MOST_BYTES = 1024 * 1024;

/**
 * Text of a small file that a person wrote, without a byte order mark.
 * @throws Error that says what is wrong with the text; ErrnoException if the file can't be read
 */
export function readTextFile(path: string): string {
  const buffer = Buffer.alloc(MOST_BYTES + 1);
  const file = openSync(path, 'r');
  let length = 0;
  try {
    for (let more = 1; more > 0; length += more) {
      more = readSync(file, buffer, length, buffer.length - length, null);
    }
  } finally {
    closeSync(file);
  }
  if (length > MOST_BYTES) throw new Error('it is larger than 1 MiB');
  const bytes = buffer.subarray(0, length);
  // UTF-16 of ASCII is valid UTF-8 with NUL bytes.
  if (bytes.includes(0) || !isUtf8(bytes)) throw new Error('it is not UTF-8. Save it as UTF-8.');
  return new TextDecoder().decode(bytes);
}

/**
 * Texts that no output may contain: keys, tokens, passwords in URLs, in each spelling of the environment. The
 * configuration may be wrong: errors about it are scrubbed, too.
 */
export function secretsOf(env: Environment): readonly string[] {
  const variables = new Variables(env);
  const ours = ALL_SETTINGS.flatMap(({ names: [name], secret }) => secretsIn(variables.texts.get(name), secret));
  const others = Object.entries(STANDARD_VARIABLES).flatMap(([name, { secret }]) =>
    [name, name.toLowerCase()].flatMap((spelling) => secretsIn(textOf(env, spelling), secret)),
  );
  return [...new Set([...ours, ...others])].filter((text) => text !== '');
}

function secretsIn(text: string | undefined, secret: Variable['secret']): string[] {
  if (text === undefined || secret === undefined) return [];
  if (secret === 'url') return passwordsInUrl(text);
  return secret === 'list' ? splitList(text) : [text];
}

/** Passwords in `scheme://user:password@host?password=…`, as written and decoded. The URL may be malformed. */
function passwordsInUrl(url: string): string[] {
  // Greedy up to the last @: the password may contain one.
  const inAuthority = [...url.matchAll(/^[a-z][a-z0-9+.-]*:\/\/[^:@/]*:(.*)@/gi)];
  const inQuery = [...url.matchAll(/[?&](?:ssl)?password=([^&#]*)/gi)];
  return [...inAuthority, ...inQuery].flatMap(([, password = '']) => [password, decoded(password)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
