import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from './clock.ts';

/** Requests under way get this long at a stop, in milliseconds. */
const GRACE_MS = 1_000;

export interface Listening {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly clock: Clock;
  /** Its abort closes the server. */
  readonly signal: AbortSignal;
  /** Why the port can't be opened. */
  readonly explain: (error: NodeJS.ErrnoException) => Error;
  readonly onListening: (address: AddressInfo) => void;
  /** One connection could not be accepted: no reason to end the program, and the next one may be. */
  readonly onRefused: (error: Error) => void;
}

/**
 * Listens until the signal aborts; resolves when all connections have ended.
 * @throws what `explain` makes of the error where the port can't be opened
 */
export async function listenUntilClosed(server: Server, options: Listening): Promise<void> {
  const { host, port, clock, signal, explain, onListening, onRefused } = options;
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
    // Before it is closed: a closed server has no address.
    onListening(server.address() as AddressInfo);
    // A stop that came before the port was open could not close it.
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
