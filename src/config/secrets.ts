import { readSettings, textOf, type Environment } from './environment.ts';
import { Secret } from './secret.ts';
import { splitList } from './values.ts';

/**
 * Everything in the environment that no output may contain, in each spelling in which it stands there: keys,
 * tokens, passwords in DSNs and proxies. Needs no valid configuration: errors about a wrong one are scrubbed too.
 */
export function secretsOf(env: Environment): readonly Secret[] {
  const { values } = readSettings(env);
  const found = [
    ...splitList(values.get('MIRROR_API_KEY') ?? ''),
    values.get('MIRROR_STATUS_TOKEN'),
    textOf(env, 'PGPASSWORD'),
    ...[values.get('DATABASE_URL'), values.get('DATABASE_URL_DIRECT')].flatMap(passwordsInUrl),
    ...['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']
      .map((name) => textOf(env, name))
      .flatMap(passwordsInUrl),
    ...passwordsInUrl(values.get('MIRROR_API_URL')),
  ];
  const spellings = new Set(found.filter((text) => text !== undefined && text !== ''));
  return [...spellings].map((text) => new Secret(text ?? ''));
}

/** Passwords in `scheme://user:password@host?password=…`, as written and decoded; the URL may be malformed. */
function passwordsInUrl(url: string | undefined): string[] {
  if (url === undefined) return [];
  // Greedy up to the last @: a password with an @ that somebody forgot to encode is found whole.
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
