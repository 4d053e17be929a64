import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from './clock.ts';
import { service, type Service } from './service.ts';

/** At a stop, how long requests under way may take. */
const GRACE_MS = 1_000;

interface ListeningOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly clock: Clock;
  /** Makes the error to throw when the port can't be opened. */
  readonly explain: (error: NodeJS.ErrnoException) => Error;
  /** Called when one connection could not be accepted; the server goes on. */
  readonly onRefused: (error: Error) => void;
}

export interface Listener extends Service {
  /**
   * Where it listens.
   * @throws RangeError before it has started
   */
  address(): AddressInfo;
}

/**
 * A service that listens until it is stopped, and has ended when all connections have. It fails with the error of
 * `explain` where the port can't be opened.
 * @param makeServer is given the signal that closes the server
 */
export function listener(
  name: string,
  options: ListeningOptions,
  makeServer: (signal: AbortSignal) => Server,
): Listener {
  let open: AddressInfo | undefined;
  const body = service(name, ({ signal, ready }) =>
    listenUntilClosed(makeServer(signal), options, signal, (address) => {
      open = address;
      ready();
    }),
  );
  return {
    ...body,
    address() {
      if (open === undefined) throw new RangeError(`the ${name} has not started`);
      return open;
    },
  };
}

async function listenUntilClosed(
  server: Server,
  { host, port, clock, explain, onRefused }: ListeningOptions,
  signal: AbortSignal,
  onListening: (address: AddressInfo) => void,
): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const over = new AbortController();
  const close = (): void => {
    server.close(() => ended.resolve());
    clock.sleep(GRACE_MS, over.signal).then(
      () => server.closeAllConnections(),
      () => {},
    );
  };
  const failed = (error: NodeJS.ErrnoException): void => ended.reject(explain(error));
  server.once('error', failed);
  server.once('listening', () => {
    server.off('error', failed);
    server.on('error', onRefused);
    // A closed server has no address: this comes before a close.
    onListening(server.address() as AddressInfo);
    // A stop before the port was open could not close it.
    if (signal.aborted) close();
  });
  server.listen(port, host);
  signal.addEventListener('abort', () => server.listening && close(), { once: true });
  try {
    await ended.promise;
  } finally {
    over.abort();
  }
}
