import { readVariables, textOf, type Environment } from './environment.ts';
import { Secret } from './secret.ts';
import { SETTINGS, type SettingName } from './settings.ts';
import type { Variable } from './variable.ts';
import { splitList } from './values/parse-values.ts';

/** Variables that others have defined. Nothing is refused in them, and none has a `_FILE`. */
export const STANDARD_VARIABLES = {
  HTTPS_PROXY: {
    means: 'proxy for requests to the service, also in lower case',
    secret: 'url',
  },
  HTTP_PROXY: {
    means: 'the same, where the service is at `http://`',
    secret: 'url',
    compose: 'none',
  },
  NO_PROXY: { means: 'hosts to reach without a proxy, also in lower case' },
  // No request uses it. A password in it is hidden all the same.
  ALL_PROXY: { secret: 'url', compose: 'none' },
  NODE_EXTRA_CA_CERTS: {
    means: 'file of certificate authorities to trust, besides those that Node knows',
    compose: 'none',
  },
  PGPASSWORD: {
    means:
      "password of the database's user, where the URL has none; libpq's other `PG*` fill the URL's gaps likewise",
    section: 'database',
    secret: 'text',
    compose: 'none',
  },
  PGSSLPASSWORD: {
    means: 'password of the key in `sslkey`, where the URL has none',
    section: 'database',
    secret: 'text',
    compose: 'none',
  },
  PORT: {
    means: 'set by hosting platforms: port of the listener for deliveries, without `MIRROR_WEBHOOK_PORT`',
    compose: 'none',
  },
} as const satisfies Record<string, Variable>;

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
