import { isTlsProblem } from '../../api/network-problem.ts';
import { createTransport } from '../../api/transport.ts';
import type { ServiceConfig } from '../../config/config.ts';
import {
  KeyRefused,
  MalformedAnswer,
  RateLimited,
  RequestRefused,
  TransportError,
} from '../../model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { countOf } from '@research-mirror/runtime/figures';
import { messageOf } from '@research-mirror/runtime/message';
import { programVersion } from '../program-files.ts';
import { pingOnce, type Pinged, readEndpoints } from './ask-service.ts';
import { certificateNames } from './certificate.ts';
import type { Report } from './check.ts';
import { CLOCK_REMEDY, clockSkew, describeSkew } from './clock-skew.ts';
import { keyPlace, keyPlaces } from './key-places.ts';
import { proxyFor, whyProxyFails } from './proxy.ts';

/** They take one ping for each key, and with good ones a request for each collection. */
export const SERVICE_CHECKS = [
  'network',
  'tls',
  'base_url',
  'keys',
  'endpoints',
  'rate_limit',
  'service_clock',
] as const;

/** Milliseconds: somebody waits for the answer. */
const LIMITS = { connectMs: 5_000, headersMs: 8_000, totalMs: 10_000 };
/** Keys that are used at a time. */
const AT_A_TIME = 5;
/** Good keys, which may have different rights, with which every endpoint is read: so many at most. */
const READ_WITH = 20;
/** Requests a minute, where no answer says how many. */
const ASSUMED_LIMIT = 60;

export interface ServiceSurroundings {
  readonly clock: Clock;
  readonly scrub: (text: string) => string;
}

/** Asks the service whose each key is, and says what the answers show. @returns what is known of each key, in order */
export async function checkService(
  config: ServiceConfig,
  { clock, scrub }: ServiceSurroundings,
  report: Report,
  signal: AbortSignal,
): Promise<readonly Pinged[]> {
  const { url, keys } = config.service;
  const transport = createTransport({
    baseUrl: url,
    clock,
    userAgent: `research-mirror/${programVersion()}`,
    limits: LIMITS,
    proxy: config.proxy,
  });
  try {
    const [firstKey, ...others] = keys;
    if (firstKey === undefined) return [];
    const context = { transport, clock, scrub };
    // The first one finds out whether there is a service at all.
    const first = await pingOnce(context, firstKey, keyPlace(0, keys.length), signal);
    if (!(await checkWay(config, first, report, signal))) return [first];
    if (!checkBaseUrl(config, first, report)) return [first];
    const pings = new Map<number, Pinged>([[0, first]]);
    await forEachConcurrently([...others.entries()], AT_A_TIME, async ([at, key]) => {
      pings.set(at + 1, await pingOnce(context, key, keyPlace(at + 1, keys.length), signal));
    });
    const all = keys.flatMap((_, at) => pings.get(at) ?? []);
    checkKeys(all, report);
    await checkEndpoints(all, (ping) => readEndpoints(context, ping, config.collections, signal), report);
    checkRate(all, config.budgetShare, report);
    checkClock(all, report);
    return all;
  } finally {
    await transport.close();
  }
}

/** Whether an answer came at all: name, connection, proxy, certificate. */
async function checkWay(
  config: ServiceConfig,
  { error }: Pinged,
  report: Report,
  signal: AbortSignal,
): Promise<boolean> {
  const { url } = config.service;
  const { host, protocol } = new URL(url);
  const proxy = proxyFor(url, config.proxy);
  const by = proxy === undefined ? '' : `, by way of the proxy ${proxy.host} (${proxy.variable})`;
  if (!(error instanceof TransportError)) {
    report('network', 'ok', `${host} answers${by}`);
    report(
      'tls',
      'ok',
      protocol === 'https:' ? 'the certificate is trusted' : 'none: the service is at loopback',
    );
    return true;
  }
  const found = messageOf(error);
  if (isTlsProblem(error.code)) {
    report('network', 'ok', `${host} is reached${by}`);
    report('tls', 'broken', found, await mendOfTls(url, error.code, signal));
    return false;
  }
  const proxyFails = proxy === undefined ? undefined : await whyProxyFails(proxy, signal);
  if (proxyFails !== undefined) {
    report('network', 'broken', proxyFails, {
      remedy: `mend ${proxy?.variable ?? ''}, or take it away where no proxy is needed`,
      command: `unset ${proxy?.variable ?? ''}`,
    });
  } else {
    report('network', 'broken', `${found}${by}`, {
      remedy:
        'mend the host in MIRROR_API_URL, or the way there (name server, firewall); where only a proxy leads out, set HTTPS_PROXY',
    });
  }
  return false;
}

async function mendOfTls(
  url: string,
  code: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly remedy: string; readonly command?: string }> {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const base = new URL(url);
    const names = await certificateNames(base.hostname, Number(base.port || 443), signal);
    const name = names.find((each) => !each.startsWith('*'));
    if (name === undefined) return { remedy: 'set MIRROR_API_URL to a name that its certificate has' };
    base.hostname = name;
    return {
      remedy: `its certificate is for ${names.join(', ')}: where that is the service, use that name`,
      command: `export MIRROR_API_URL=${base.href.replace(/\/+$/, '')}`,
    };
  }
  if (code === 'CERT_HAS_EXPIRED') return { remedy: 'whoever runs the service has to renew it' };
  if (code === 'CERT_NOT_YET_VALID') return { remedy: CLOCK_REMEDY };
  return {
    remedy: "get the authority's certificate (PEM) from whoever runs the service, and name its file",
    command: 'export NODE_EXTRA_CA_CERTS=authority.pem',
  };
}

/** Whether it is the service that answers. A refused key is its answer, too. */
function checkBaseUrl(config: ServiceConfig, { error }: Pinged, report: Report): boolean {
  const { url } = config.service;
  if (error instanceof MalformedAnswer || (error instanceof RequestRefused && error.status < 500)) {
    report('base_url', 'broken', `something else than the service answers at ${url}: ${messageOf(error)}`, {
      remedy: 'set MIRROR_API_URL to the address of the service, without /v1 and what follows it',
    });
    return false;
  }
  if (error instanceof Error && !(error instanceof KeyRefused) && !(error instanceof RateLimited)) {
    report('base_url', 'unknown', messageOf(error), { remedy: 'the service is in trouble: try again later' });
    return false;
  }
  report('base_url', 'ok', url);
  return true;
}

/** A line for each account, with its keys, and one for each key that is of no use. */
function checkKeys(pings: readonly Pinged[], report: Report): void {
  const byOwner = new Map<string, number[]>();
  for (const [at, { place, owner, error }] of pings.entries()) {
    if (owner !== undefined) byOwner.set(owner, [...(byOwner.get(owner) ?? []), at]);
    else if (error instanceof KeyRefused) {
      report('keys', 'broken', `${place} is refused: ${messageOf(error)}`, {
        remedy:
          pings.length === 1
            ? "make a key on the account's page /api-keys, and put it there"
            : "take it out of MIRROR_API_KEY, or put a new one there (the account's page /api-keys)",
      });
    } else {
      report('keys', 'unknown', `${place}: ${messageOf(error)}`, { remedy: 'try again in a minute' });
    }
  }
  for (const [owner, places] of byOwner) {
    const verb = places.length === 1 ? 'is' : 'are';
    report('keys', 'ok', `${keyPlaces(places, pings.length)} ${verb} account ${owner}'s`);
  }
}

/** A key may be good, and not permitted to read everything. */
async function checkEndpoints(
  pings: readonly Pinged[],
  read: (ping: Pinged) => Promise<readonly unknown[]>,
  report: Report,
): Promise<void> {
  const good = pings.filter(({ owner }) => owner !== undefined);
  const tried = good.slice(0, READ_WITH);
  let refused = 0;
  await forEachConcurrently(tried, AT_A_TIME, async (ping) => {
    for (const error of await read(ping)) {
      refused += 1;
      const lasts = [KeyRefused, RequestRefused, MalformedAnswer].some((each) => error instanceof each);
      report('endpoints', lasts ? 'broken' : 'unknown', `${ping.place}: ${messageOf(error)}`, {
        remedy: lasts
          ? 'have the service permit it, or leave the collection out of MIRROR_COLLECTIONS'
          : 'try again in a minute',
      });
    }
  });
  if (refused === 0 && tried.length > 0)
    report('endpoints', 'ok', `all can be read with ${tried.length} of ${countOf(good.length, 'good key')}`);
}

function checkRate(pings: readonly Pinged[], share: number, report: Report): void {
  const limited = pings.filter(({ error }) => error instanceof RateLimited);
  if (limited.length > 0) {
    const places = limited.map(({ place }) => place).join(', ');
    report('rate_limit', 'warning', `used up (429) for ${places}`, {
      remedy:
        'another program uses the key: leave it more by a lower MIRROR_BUDGET_SHARE, or give it a key of its own',
    });
    return;
  }
  const known = pings.flatMap(({ rate }) =>
    rate?.limit === undefined ? [] : [{ ...rate, limit: rate.limit }],
  );
  const limit = Math.min(...known.map((rate) => rate.limit));
  if (known.length === 0) {
    report('rate_limit', 'ok', `no answer names one: ${ASSUMED_LIMIT} requests a minute and key are assumed`);
    return;
  }
  const left = Math.min(...known.map((rate) => rate.remaining ?? rate.limit));
  const used = Math.max(1, Math.floor(limit * share));
  report(
    'rate_limit',
    'ok',
    `${limit} requests a minute and key, ${left} left now; MIRROR_BUDGET_SHARE=${share} uses up to ${used}`,
  );
}

function checkClock(pings: readonly Pinged[], report: Report): void {
  const [dated] = pings.flatMap(({ date, ...rest }) => (date === undefined ? [] : [{ ...rest, date }]));
  if (dated === undefined) {
    report('service_clock', 'ok', 'no answer says the time');
    return;
  }
  // HTTP dates have whole seconds.
  const skew = clockSkew({ ...dated, said: dated.date, resolutionMs: 1_000 });
  const wrong = describeSkew("the service's clock", skew);
  if (wrong === undefined) report('service_clock', 'ok', "as this machine's");
  else report('service_clock', 'warning', wrong, { remedy: CLOCK_REMEDY });
}
