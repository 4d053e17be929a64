import { readVariables, textOf, type Environment } from './environment.ts';
import { Secret } from './secret.ts';
import { SETTINGS, type SettingName } from './settings.ts';
import { STANDARD_VARIABLES } from './standard-variables.ts';
import type { Variable } from './variable.ts';
import { splitList } from './values/parse-values.ts';

/**
 * Everything in the environment that no output may contain, in each spelling in which it stands there: keys, tokens,
 * passwords in URLs. The configuration may be wrong: errors about it are scrubbed too.
 */
export function secretsOf(env: Environment): readonly Secret[] {
  const { values } = readVariables(env);
  const ours = Object.entries<Variable>(SETTINGS).flatMap(([name, { secret }]) =>
    // Both X and X_FILE may be set, which is wrong.
    secretsIn(values.get(name as SettingName) ?? textOf(env, name), secret),
  );
  const others = Object.entries<Variable>(STANDARD_VARIABLES).flatMap(([name, { secret }]) =>
    [name, name.toLowerCase()].flatMap((spelling) => secretsIn(textOf(env, spelling), secret)),
  );
  const found = new Set([...ours, ...others].filter((text) => text !== ''));
  return [...found].map((text) => new Secret(text));
}

function secretsIn(text: string | undefined, secret: Variable['secret']): string[] {
  if (text === undefined) return [];
  switch (secret) {
    case 'text':
      return [text];
    case 'list':
      return splitList(text);
    case 'url':
      return passwordsInUrl(text);
    case undefined:
      return [];
  }
}

/** Finds passwords in `scheme://user:password@host?password=…`, as written and decoded. The URL may be malformed. */
function passwordsInUrl(url: string): string[] {
  // Greedy up to the last @: finds a password whole even if its @ is not encoded.
  const inAuthority = /^[a-z][a-z0-9+.-]*:\/\/[^:@/]*:(.*)@/i.exec(url)?.[1];
  const inQuery = [...url.matchAll(/[?&](?:ssl)?password=([^&#]*)/gi)].map((match) => match[1]);
  return [inAuthority, ...inQuery].flatMap((password) =>
    password === undefined ? [] : [password, decoded(password)],
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
