import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from './clock.ts';

/** At a stop, how long requests under way may take. */
const GRACE_MS = 1_000;

export interface Listening {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly clock: Clock;
  /** Closes the server when it aborts. */
  readonly signal: AbortSignal;
  /** Makes the error to throw when the port can't be opened. */
  readonly explain: (error: NodeJS.ErrnoException) => Error;
  readonly onListening: (address: AddressInfo) => void;
  /** Called when one connection could not be accepted; the server goes on. */
  readonly onRefused: (error: Error) => void;
}

/**
 * Listens until the signal aborts; resolves when all connections have ended.
 * @throws the error of `explain` where the port can't be opened
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
