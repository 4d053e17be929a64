import { createServer, connect, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** What a proxy does to the bytes of a connection. */
export interface Weather {
  /** Cuts the connection after so many bytes towards the client; undefined: never. */
  readonly cutAfter?: number | undefined;
  /** How it is cut: a clean end, or a reset. */
  readonly cut?: 'end' | 'reset' | undefined;
  /** Holds every chunk back so long, ms. */
  readonly delayMs?: number | undefined;
  /** Passes nothing on any more after so many bytes, and keeps the connection open. */
  readonly stallAfter?: number | undefined;
}

export interface Proxy {
  readonly port: number;
  /** Drawn anew for each connection; given the number of connections before. */
  weather: (connection: number) => Weather;
  /** Connections so far. */
  connections: number;
  /** Resets all that is open. @returns how many */
  reset(): number;
  /** Refuses new connections, or takes them again. */
  refuse(refused: boolean): void;
  close(): Promise<void>;
}

/** A TCP proxy on loopback before `port`. */
export async function startProxy(target: number): Promise<Proxy> {
  const open = new Set<Socket>();
  let refusing = false;
  const server: Server = createServer((client) => {
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const weather = proxy.weather(proxy.connections);
    proxy.connections += 1;
    const behind = connect(target, '127.0.0.1');
    for (const socket of [client, behind]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
    }
    client.on('data', (bytes) => later(weather, () => behind.write(bytes)));
    client.on('end', () => later(weather, () => behind.end()));
    client.on('close', () => behind.destroy());
    let passed = 0;
    behind.on('data', (bytes) => {
      const { cutAfter, cut, stallAfter } = weather;
      const before = passed;
      passed += bytes.length;
      if (stallAfter !== undefined && passed > stallAfter) return;
      if (cutAfter === undefined || passed <= cutAfter) {
        later(weather, () => client.write(bytes));
        return;
      }
      client.write(Buffer.from(bytes).subarray(0, Math.max(0, cutAfter - before)), () => {
        if (cut === 'reset') client.resetAndDestroy();
        else client.destroy();
      });
    });
    behind.on('end', () => later(weather, () => client.end()));
    behind.on('close', () => later(weather, () => client.destroy()));
  });
  const proxy: Proxy = {
    port: 0,
    weather: () => ({}),
    connections: 0,
    reset() {
      const count = open.size;
      for (const socket of open) socket.resetAndDestroy();
      return count;
    },
    refuse(refused) {
      refusing = refused;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return Object.assign(proxy, { port: (server.address() as AddressInfo).port });
}

function later({ delayMs = 0 }: Weather, act: () => void): void {
  if (delayMs === 0) act();
  else setTimeout(act, delayMs);
}
