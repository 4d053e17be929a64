import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A real HTTP server on loopback; `url` is without trailing slash. */
export interface LoopbackServer {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Closes it with all its connections. */
  close(): Promise<void>;
}

export async function listen(listener: RequestListener, server = createServer(listener)): Promise<LoopbackServer> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
