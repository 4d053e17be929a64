/** The checks of `doctor` that ask the service. */

import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { countOf, formatSpan, ordinal } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { COLLECTIONS } from '../model/collections.ts';
import {
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceError,
  TransportError,
} from '../model/errors.ts';
import { knownKeys, otherOwner, otherService } from '../postgres/accounts.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import { isTlsProblem } from '../service/transport.ts';
import { statusReport } from '../status/collect-status.ts';
import { affectedBy, type ProblemCause } from '../status/problem.ts';
import { AT_A_TIME, broken, type Check, type Context, isAnswered, ok, unknown, warning } from './check.ts';

/** Most keys with which every endpoint is read: keys may have different rights. */
const READ_WITH = 20;
const SOON = { remedy: 'try again in a minute' };
const CLOCK_REMEDY =
  'synchronize this machine’s clock with NTP (timedatectl set-ntp true); if it is right, tell the operator of the other machine';

/** Remedies by OpenSSL's or Node's error code. The default is AUTHORITY: an unknown authority. */
const TLS_REMEDIES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'ask the operator of the service to renew it',
  CERT_NOT_YET_VALID: CLOCK_REMEDY,
  ERR_TLS_CERT_ALTNAME_INVALID: 'if that is the service, set MIRROR_API_URL to a name in its certificate',
};
const AUTHORITY = "get the authority's certificate (PEM) from the operator of the service";

export const SERVICE_CHECKS: readonly Check[] = [
  { name: 'network', run: network },
  { name: 'tls', after: ['network'], run: tls },
  { name: 'base_url', after: ['tls'], run: baseUrl },
  { name: 'keys', after: ['base_url'], run: async ({ pings }) => judgeKeys(await pings()) },
  { name: 'endpoints', after: ['base_url'], run: endpoints },
  { name: 'rate_limit', after: ['base_url'], run: rateLimit },
  { name: 'service_clock', after: ['base_url'], run: serviceClock },
];

export const ACCOUNT_CHECKS: readonly Check[] = [
  { name: 'accounts', after: ['base_url', 'objects', 'rights'], run: accounts },
  { name: 'failing', after: ['base_url', 'writable', 'objects', 'rights'], run: failing },
];

async function network({ config: { service, proxy }, pings }: Context) {
  const { host, protocol } = new URL(service.url);
  const error = (await pings())[0]?.error;
  if (!(error instanceof TransportError) || isTlsProblem(error.code)) return ok(`${host} is reachable`);
  const [variable, given] =
    protocol === 'https:' ? (['HTTPS_PROXY', proxy.https] as const) : (['HTTP_PROXY', proxy.http] as const);
  // Only undici evaluates NO_PROXY.
  const by = given === undefined ? '' : `, through the proxy in ${variable} unless NO_PROXY exempts the service`;
  return broken(`${messageOf(error)}${by}`, {
    remedy: `check the service, the host in MIRROR_API_URL, and the network between: DNS, firewall, proxy (${variable})`,
  });
}

async function tls({ config, pings }: Context) {
  const error = (await pings())[0]?.error;
  if (!(error instanceof TransportError)) {
    const isEncrypted = config.service.url.startsWith('https:');
    return ok(isEncrypted ? 'the certificate is trusted' : 'none: the service is on loopback');
  }
  return broken(messageOf(error), { remedy: TLS_REMEDIES[error.code ?? ''] ?? AUTHORITY });
}

async function baseUrl({ config, pings }: Context) {
  const { url } = config.service;
  const error = (await pings())[0]?.error;
  if (isAnswered(error)) return ok(url);
  if (error instanceof MalformedAnswer || (error instanceof RequestRefused && error.status < 500)) {
    return broken(`something other than the service answers at ${url}: ${messageOf(error)}`, {
      remedy: 'set MIRROR_API_URL to the address of the service, without /v1 or anything after it',
    });
  }
  return (error instanceof ServiceError ? broken : unknown)(messageOf(error), {
    remedy: 'mirroring continues by itself when the service answers; if this lasts, tell its operator',
  });
}

/** One finding for each key that can't be used, and one for each account with its keys. */
function judgeKeys(pings: Awaited<ReturnType<Context['pings']>>) {
  const remedy =
    pings.length === 1
      ? "create a key on the account's page /api-keys and set it in MIRROR_API_KEY"
      : "remove it from MIRROR_API_KEY, or replace it with a new one (the account's page /api-keys)";
  const useless = pings.flatMap((ping) => {
    const { error } = ping;
    const place = keyPlaces([ping], pings.length);
    if (error === undefined) return [];
    if (!(error instanceof KeyRefused)) return unknown(`${place}: ${messageOf(error)}`, SOON);
    return broken(`${place} is refused: ${messageOf(error)}`, { remedy });
  });
  const owned = [...Map.groupBy(pings, ({ owner }) => owner)].flatMap(([owner, keys]) => {
    if (owner === undefined) return [];
    return ok(`${keyPlaces(keys, pings.length)} ${keys.length === 1 ? 'belongs' : 'belong'} to account ${owner}`);
  });
  return [...useless, ...owned];
}

/** Names keys without showing them: `the 1st and 3rd key in MIRROR_API_KEY`. @param count of all keys */
export function keyPlaces(keys: readonly { readonly at: number }[], count: number): string {
  if (count === 1) return 'the key in MIRROR_API_KEY';
  const places = new Intl.ListFormat('en-GB').format(keys.map(({ at }) => ordinal(at + 1)));
  return `the ${places} key in MIRROR_API_KEY`;
}

/** Whether good keys may read every collection. */
async function endpoints(context: Context) {
  const pings = await context.pings();
  const good = pings.filter(({ owner }) => owner !== undefined);
  const tried = good.slice(0, READ_WITH);
  const findings: ReturnType<typeof ok>[] = [];
  await forEachConcurrently(tried, AT_A_TIME, async (ping) => {
    let list: string | undefined;
    for (const each of COLLECTIONS.filter(({ name }) => context.config.collections.includes(name))) {
      // Items are read of the first list, if there is one.
      if (each.name === 'list_items' && list === undefined) continue;
      const first = { cursor: undefined, limit: undefined, priority: PRIORITY.POLL, signal: context.signal };
      try {
        if (each.kind === 'single') await ping.api.object({ ...first, ...each, path: each.path() });
        else {
          const path = `${each.path(list ?? '')}?limit=1`;
          const { items } = await ping.api.page({ ...first, ...each, path });
          if (each.name === 'lists') list = items[0]?.key;
        }
      } catch (error) {
        context.signal.throwIfAborted();
        const found = `${keyPlaces([ping], pings.length)}: ${messageOf(error)}`;
        const lasts = [KeyRefused, RequestRefused, MalformedAnswer].some((kind) => error instanceof kind);
        const remedy = 'ask the operator of the service for access, or leave the collection out of MIRROR_COLLECTIONS';
        findings.push(lasts ? broken(found, { remedy }) : unknown(found, SOON));
      }
    }
  });
  if (findings.length > 0 || tried.length === 0) return findings;
  return ok(`all can be read with ${tried.length} of ${countOf(good.length, 'good key')}`);
}

async function rateLimit({ pings }: Context) {
  const all = await pings();
  const limited = all.filter(({ error }) => error instanceof RateLimited);
  if (limited.length === 0) return ok('no key is rate limited');
  return warning(`rate limited (429): ${keyPlaces(limited, all.length)}`, {
    remedy: 'another program uses the same key; lower MIRROR_BUDGET_SHARE to leave it more, or give it its own key',
  });
}

async function serviceClock({ pings }: Context) {
  const skew = (await pings()).find((each) => each.skew !== undefined)?.skew;
  return skew === undefined ? ok('no answer has a date') : judgeClock("the service's clock", skew);
}

/** Smaller differences (ms) may come from the network. */
const TOLERANCE_MS = 5_000;

/** @param whose `the service's clock` @param skew from `clockSkew` */
export function judgeClock(whose: string, skew: number) {
  if (Math.abs(skew) < TOLERANCE_MS) return ok("matches this machine's");
  const found = `${whose} is ${formatSpan(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} this machine's`;
  return warning(found, { remedy: CLOCK_REMEDY });
}

/** Whether each account still has the service and the keys that it was mirrored with. */
async function accounts({ config, mirror, pings }: Context) {
  const [db, all] = [await mirror(), await pings()];
  const owners = new Set(all.flatMap(({ owner }) => owner ?? []));
  if (db === undefined || owners.size === 0) return [];
  const hashes = all.map(({ keyHash }) => keyHash);
  const known = await knownKeys(db, hashes);
  const before = new Map(known.map(({ keyHash, userId }) => [keyHash, userId]));
  const moved = all.flatMap((ping) => {
    const { keyHash, owner } = ping;
    const userId = before.get(keyHash);
    if (owner === undefined || userId === undefined || userId === owner) return [];
    return move(userId, `${keyPlaces([ping], all.length)}: ${otherOwner(userId, keyHash, owner)}`);
  });
  const { url } = config.service;
  const served = new Set([...before.values(), ...owners]);
  const stored = await db.state.selectFrom('account').select(['_user_id', 'origin', 'state']).execute();
  const mirrored = stored.flatMap(({ _user_id: userId, origin, state }) => {
    if (owners.has(userId) && origin !== null && origin !== url) return move(userId, otherService(userId, origin, url));
    if (served.has(userId) || state === 'retired') return [];
    const remedy = `if no other daemon mirrors it, add its key, or retire the account: "research-mirror accounts retire ${userId}"`;
    return warning(`account ${userId} is mirrored, but MIRROR_API_KEY has no key for it`, { remedy });
  });
  const findings = [...moved, ...mirrored];
  return findings.length > 0 ? findings : ok('keys and service match the mirrored accounts');
}

function move(userId: string, why: string) {
  return broken(why, {
    remedy: 'if this is intended, stop the daemon and run',
    command: `research-mirror accounts move ${userId}`,
  });
}

/** Problems that show only when a collection is read or written. */
const MET_BY_READING: ReadonlySet<ProblemCause> = new Set([
  'database_unready',
  'database_refuses',
  'service_down',
  'account_stopped',
  'collection_failing',
  'deletions_refused',
  'rows_stale',
]);

/** Reports what `status` says of collections that can't be read or written. */
async function failing({ config, mirror }: Context) {
  const db = await mirror();
  if (db === undefined) return [];
  // No problem depends on the workload.
  const workload = { databaseBytes: 0, backlogs: new Map(), credits: new Map(), notes: [] };
  const { problems } = await statusReport({ config, db, words: '', accounts: undefined, workload });
  const met = problems.filter(({ cause }) => MET_BY_READING.has(cause));
  if (met.length === 0) return ok('no collection failed when it was last read');
  return met.map((problem) => {
    const { what, byItself, remedy } = problem;
    const isOurs = remedy?.includes('research-mirror doctor') === true;
    return broken(`${affectedBy(problem)}: ${what}`, {
      remedy: isOurs
        ? `${byItself}; fix what "keys", "endpoints" and "foreign_objects" report if they are not ok`
        : remedy,
    });
  });
}
