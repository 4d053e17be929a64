import { lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { orAborted } from '@research-mirror/runtime/service';
import { TransportError } from '../model/errors.ts';
import { createDispatcher, networkProblem, type ProxySettings } from '../service/transport.ts';

/** Milliseconds. */
const LIMITS = { connectMs: 10_000, headersMs: 10_000, silenceMs: 10_000 };

export interface NotifyReceiverOptions {
  /** Its path and query may be a secret: no message has more of it than host and port. */
  readonly url: string;
  /** Whether addresses that are not public may be reached: private, link-local, loopback and the like. */
  readonly allowPrivate: boolean;
  readonly userAgent: string;
  readonly proxy?: ProxySettings | undefined;
  /** Of tests. */
  readonly resolve?: typeof lookUp;
}

/** Where messages of problems go. */
export type NotifyReceiver = ReturnType<typeof createNotifyReceiver>;

/**
 * Each address is judged when it is connected to: a name may have another one than it had. What is sent by way of a
 * proxy has its name looked up there. No redirect is followed.
 */
export function createNotifyReceiver(options: NotifyReceiverOptions) {
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
      // Of an error there are none.
      const refused =
        error === null ? addresses.map((each) => refusePrivate(each.address)).find(Boolean) : error;
      answer(refused ?? null, addresses);
    });
  };
  const dispatcher = createDispatcher(LIMITS, proxy, lookup);
  return {
    host,
    /** @throws TransportError where it was not answered with 2xx; the signal's reason */
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
