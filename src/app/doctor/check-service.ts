import { readObject, readPage, servedBy } from '../../api/envelope.ts';
import type { HttpAnswer } from '../../api/transport.ts';
import { isTlsProblem } from '../../api/network-problem.ts';
import { readRateHeaders } from '../../budget/evidence/rate-headers.ts';
import { COLLECTIONS } from '../../model/collections.ts';
import {
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  ServiceError,
  TransportError,
} from '../../model/errors.ts';
import type { Page } from '../../model/page.ts';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { countOf, formatSpan, ordinal } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { broken, type Check, type CheckFinding, ok, unknown, warning } from './check.ts';
import { AT_A_TIME, type Context, isAnswered, type Ping } from './context.ts';

/** Good keys, which may have different rights, with which every endpoint is read: so many at most. */
const READ_WITH = 20;
/** Requests a minute, where no answer says how many. */
const ASSUMED_LIMIT = 60;

const CLOCK_REMEDY =
  'let NTP set this machine’s clock (timedatectl set-ntp true); where it is right, tell the operator of the other machine';

/** What mends a certificate, by the code of OpenSSL or Node; that of another is of an unknown authority. */
const TLS_REMEDIES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the operator of the service has to renew it',
  CERT_NOT_YET_VALID: CLOCK_REMEDY,
  ERR_TLS_CERT_ALTNAME_INVALID: 'set MIRROR_API_URL to one of its names, where that is the service',
};

/** What one ping for each key shows, and with good keys a request for each collection. */
export const SERVICE_CHECKS: readonly Check<Context>[] = [
  { name: 'network', run: network },
  { name: 'tls', after: ['network'], run: tls },
  { name: 'base_url', after: ['tls'], run: baseUrl },
  { name: 'keys', after: ['base_url'], run: async (context) => judgeKeys(await context.pings()) },
  { name: 'endpoints', after: ['base_url'], run: endpoints },
  { name: 'rate_limit', after: ['base_url'], run: rateLimit },
  { name: 'service_clock', after: ['base_url'], run: serviceClock },
];

async function network({ config: { service, proxy }, pings }: Context): Promise<CheckFinding> {
  const { host, protocol } = new URL(service.url);
  const error = (await pings())[0]?.error;
  if (!(error instanceof TransportError) || isTlsProblem(error.code)) return ok(`${host} is reached`);
  const found = messageOf(error);
  const [variable, given] =
    protocol === 'https:' ? (['HTTPS_PROXY', proxy.https] as const) : (['HTTP_PROXY', proxy.http] as const);
  const by = URL.parse(given ?? '');
  const runs = error.code === 'ECONNREFUSED' ? 'does the service run at that address? If so, ' : '';
  const way = 'mend the host in MIRROR_API_URL, or the way there (name server, firewall)';
  if (by === null)
    return broken(found, { remedy: `${runs}${way}; where only a proxy leads out, set ${variable}` });
  // undici alone knows whom NO_PROXY excepts.
  return broken(`${found}, by the proxy ${by.host} (${variable}) unless NO_PROXY excepts the service`, {
    remedy: `see that the proxy runs, or ${way}; where no proxy is needed`,
    command: `unset ${variable}`,
  });
}

async function tls({ config, pings }: Context): Promise<CheckFinding> {
  const error = (await pings())[0]?.error;
  if (!(error instanceof TransportError)) {
    const isEncrypted = config.service.url.startsWith('https:');
    return ok(isEncrypted ? 'the certificate is trusted' : 'none: the service is at loopback');
  }
  const remedy = TLS_REMEDIES[error.code ?? ''];
  if (remedy !== undefined) return broken(messageOf(error), { remedy });
  return broken(messageOf(error), {
    remedy: "get the authority's certificate (PEM) from the operator of the service, and name its file",
    command: 'export NODE_EXTRA_CA_CERTS=authority.pem',
  });
}

async function baseUrl({ config, pings }: Context): Promise<CheckFinding> {
  const { url } = config.service;
  const error = (await pings())[0]?.error;
  if (isAnswered(error)) return ok(url);
  if (error instanceof MalformedAnswer || (error instanceof RequestRefused && error.status < 500)) {
    return broken(`something else than the service answers at ${url}: ${messageOf(error)}`, {
      remedy: 'set MIRROR_API_URL to the address of the service, without /v1 and what follows it',
    });
  }
  const isDown = error instanceof ServiceError;
  return (isDown ? broken : unknown)(messageOf(error), {
    remedy:
      'the service is in trouble: tell its operator where that lasts; mirroring goes on by itself when it answers',
  });
}

/** One finding for each account, with its keys, and one for each key that is of no use. */
function judgeKeys(pings: readonly Ping[]): readonly CheckFinding[] {
  const useless = pings.flatMap((ping) => {
    const { error } = ping;
    const place = keyPlaces([ping], pings.length);
    if (error === undefined) return [];
    if (!(error instanceof KeyRefused))
      return unknown(`${place}: ${messageOf(error)}`, { remedy: 'try again in a minute' });
    return broken(`${place} is refused: ${messageOf(error)}`, {
      remedy:
        pings.length === 1
          ? "make a key on the account's page /api-keys, and put it there"
          : "take it out of MIRROR_API_KEY, or put a new one there (the account's page /api-keys)",
    });
  });
  const owned = [...Map.groupBy(pings, ({ owner }) => owner)].flatMap(([owner, keys]) => {
    if (owner === undefined) return [];
    return ok(`${keyPlaces(keys, pings.length)} ${keys.length === 1 ? 'is' : 'are'} account ${owner}'s`);
  });
  return [...useless, ...owned];
}

/**
 * Where keys stand in MIRROR_API_KEY, in words that show nothing of them: `the 1st and 3rd of MIRROR_API_KEY`.
 * @param count of all keys
 */
export function keyPlaces(keys: readonly Pick<Ping, 'at'>[], count: number): string {
  if (count === 1) return 'the key in MIRROR_API_KEY';
  const places = new Intl.ListFormat('en-GB').format(keys.map(({ at }) => ordinal(at + 1)));
  return `the ${places} of MIRROR_API_KEY`;
}

/** A key may be good, and not permitted to read everything. */
async function endpoints(context: Context): Promise<readonly CheckFinding[]> {
  const pings = await context.pings();
  const good = pings.filter(({ owner }) => owner !== undefined);
  const tried = good.slice(0, READ_WITH);
  const findings: CheckFinding[] = [];
  await forEachConcurrently(tried, AT_A_TIME, async (ping) => {
    for (const error of await unreadable(context, ping)) {
      const found = `${keyPlaces([ping], pings.length)}: ${messageOf(error)}`;
      const lasts = [KeyRefused, RequestRefused, MalformedAnswer].some((each) => error instanceof each);
      const remedy = lasts
        ? 'have the service permit it, or leave the collection out of MIRROR_COLLECTIONS'
        : 'try again in a minute';
      findings.push((lasts ? broken : unknown)(found, { remedy }));
    }
  });
  if (findings.length > 0 || tried.length === 0) return findings;
  return [ok(`all can be read with ${tried.length} of ${countOf(good.length, 'good key')}`)];
}

/** Reads one item of each collection; of lists' items those of the first list. @returns why some can't be read */
async function unreadable(context: Context, { key }: Ping): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  let list: string | undefined;
  for (const each of COLLECTIONS.filter(({ name }) => context.config.collections.includes(name))) {
    if (each.name === 'list_items' && list === undefined) continue;
    try {
      if (each.kind === 'single') await context.read(key, each.path(), ({ text }) => readObject(text));
      else {
        const { keyField, keyType } = each;
        const read = ({ text }: HttpAnswer): Page => readPage(text, keyField, keyType);
        const { items } = await context.read(key, `${each.path(list ?? '')}?limit=1`, read);
        if (each.name === 'lists') list = items[0]?.key;
      }
    } catch (error) {
      context.signal.throwIfAborted();
      errors.push(error);
    }
  }
  return errors;
}

async function rateLimit({ config, pings }: Context): Promise<CheckFinding> {
  const all = await pings();
  const limited = all.filter(({ error }) => error instanceof RateLimited);
  if (limited.length > 0) {
    return warning(`used up (429) for ${keyPlaces(limited, all.length)}`, {
      remedy:
        'another program uses the key: leave it more by a lower MIRROR_BUDGET_SHARE, or give it a key of its own',
    });
  }
  const limits = all.flatMap(
    ({ headers = {}, answeredAt }) => readRateHeaders(headers, answeredAt).limit ?? [],
  );
  const limit = limits.length === 0 ? ASSUMED_LIMIT : Math.min(...limits);
  const whose = limits.length === 0 ? ' (no answer names a limit)' : '';
  const used = Math.max(1, Math.floor(limit * config.budgetShare));
  return ok(
    `${limit} requests a minute and key${whose}; MIRROR_BUDGET_SHARE=${config.budgetShare} uses up to ${used}`,
  );
}

async function serviceClock({ pings }: Context): Promise<CheckFinding> {
  for (const { headers = {}, askedAt, answeredAt } of await pings()) {
    const { date, ageMs } = servedBy(headers);
    // A copy of a cache's tells an earlier time. HTTP dates have whole seconds.
    if (date !== undefined && ageMs === 0)
      return judgeClock("the service's clock", clockSkew(date, 1_000, askedAt, answeredAt));
  }
  return ok('no answer says the time');
}

/**
 * By how much another clock is certainly ahead of ours (positive) or behind it, in milliseconds; 0 where both may be
 * the same: its answer was true at some time between question and answer (Cristian 1989).
 * @param said what it said; its true time was up to `resolutionMs` more
 */
export function clockSkew(said: number, resolutionMs: number, askedAt: number, answeredAt: number): number {
  return Math.max(0, said - answeredAt) + Math.min(0, said + resolutionMs - askedAt);
}

/** What is less (ms) may come from the network. */
const TOLERANCE_MS = 5_000;

/** @param whose `the service's clock` @param skew as `clockSkew` gives it */
export function judgeClock(whose: string, skew: number): CheckFinding {
  if (Math.abs(skew) < TOLERANCE_MS) return ok("as this machine's");
  const found = `${whose} is ${formatSpan(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} this machine's`;
  return warning(found, { remedy: CLOCK_REMEDY });
}
