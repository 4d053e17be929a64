import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ephemeral ports of Linux, macOS and Windows. */
const [FIRST, END] = [20_000, 32_000] as const;

/** A free TCP port of the loopback interface, which the kernel gives to no other program while its server restarts. */
export async function nonEphemeralPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    if (await isPortFree(port)) return port;
  }
}

/** Whether a server could listen on this port of the loopback interface now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
