import { lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { orAborted } from '@research-mirror/runtime/service';
import { TransportError } from '../model/errors.ts';
import { createDispatcher, networkProblem, type ProxySettings } from '../service/transport.ts';

const LIMITS = { connectMs: 10_000, headersMs: 10_000, silenceMs: 10_000 };

export type NotifyReceiver = ReturnType<typeof createNotifyReceiver>;

/**
 * Receiver of messages about problems. An address is judged at each connection, as a name's addresses may change. A
 * proxy looks up names itself. No redirect is followed.
 */
export function createNotifyReceiver(options: {
  /** Its path and query may be a secret: messages have only host and port. */
  readonly url: string;
  /** Allows addresses that are not public: private, link-local, loopback and the like. */
  readonly allowPrivate: boolean;
  readonly userAgent: string;
  readonly proxy?: ProxySettings | undefined;
  /** For tests. */
  readonly resolve?: typeof lookUp;
}) {
  const { url, allowPrivate, userAgent, proxy, resolve = lookUp } = options;
  const { host, hostname, origin, pathname, search } = new URL(url);
  const refusePrivate = (address: string): TransportError | undefined =>
    allowPrivate || ipaddr.process(address).range() === 'unicast'
      ? undefined
      : new TransportError(
          `${host} is at ${address}, no public address: MIRROR_NOTIFY_ALLOW_PRIVATE=on allows it`,
        );
  const lookup: LookupFunction = (name, { family = 0, hints = 0 }, answer) => {
    resolve(name, { all: true, hints, family }, (error, addresses) => {
      // After an error `addresses` is undefined.
      const refused = error ?? addresses.map((each) => refusePrivate(each.address)).find(Boolean);
      answer(refused ?? null, addresses);
    });
  };
  const dispatcher = createDispatcher(LIMITS, proxy, lookup);
  return {
    host,
    /** @throws TransportError unless it is answered with 2xx; the signal's reason */
    async post(body: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
      const literal = hostname.replaceAll(/[[\]]/g, '');
      const refused = isIP(literal) === 0 ? undefined : refusePrivate(literal);
      if (refused !== undefined) throw refused;
      const own = { 'content-type': 'application/json', 'user-agent': userAgent };
      const asked = { origin, path: pathname + search, method: 'POST', body, signal } as const;
      try {
        const answered = dispatcher.request({ ...asked, headers: { ...headers, ...own } });
        const { statusCode, body: answer } = await orAborted(answered, signal);
        answer.on('error', () => {}).destroy();
        if (statusCode < 200 || statusCode > 299)
          throw new TransportError(`${host} answered with ${statusCode}`);
      } catch (error) {
        signal.throwIfAborted();
        throw networkProblem(error, host, true);
      }
    },
    close: (): Promise<void> => dispatcher.destroy(),
  };
}
