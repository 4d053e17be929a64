import { randomInt } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';

/** A TCP port of the loopback interface that is free at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Below what Linux, macOS and Windows give to outgoing connections, and to servers that ask for any port. */
const [FIRST, END] = [20_000, 32_000] as const;

/**
 * A TCP port of the loopback interface for what is stopped and started again on it: while it is free, nothing that the
 * kernel hands out takes it.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    if (await isFree(port)) return port;
  }
}

/** Whether a server of the loopback interface could listen on it at this moment. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
