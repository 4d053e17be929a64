import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What a proxy does to the bytes of a connection. */
export interface Weather {
  /** Bytes towards the client after which the connection is cut; undefined: never. */
  readonly cutAfter?: number;
  /** How it is cut: cleanly, or by a reset. */
  readonly cut?: 'end' | 'reset';
  /** Delay of every chunk, ms. */
  readonly delayMs?: number;
  /** Throughput of each direction. */
  readonly bytesPerSecond?: number;
  /** Bytes towards the client after which nothing is passed on, while the connection stays open. */
  readonly stallAfter?: number;
}

export type Proxy = Awaited<ReturnType<typeof startProxy>>;

/** A TCP proxy on loopback before the port `target`. */
export async function startProxy(target: number) {
  const open = new Set<Socket>();
  let refusing = false;
  const server = createServer((client) => {
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const weather = proxy.weather();
    const behind = connect(target, '127.0.0.1');
    for (const socket of [client, behind]) {
      open.add(socket);
      // As a network would: else the second of two small writes waits 40 ms for the first one's acknowledgement.
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
    }
    const there = line(weather);
    const back = line(weather);
    let isAnswered = true;
    client.on('data', (bytes) => {
      if (isAnswered) proxy.roundTrips += 1;
      isAnswered = false;
      there(bytes.length, () => behind.write(bytes));
    });
    client.on('end', () => there(0, () => behind.end()));
    client.on('close', () => behind.destroy());
    const { cutAfter = Infinity, cut, stallAfter = Infinity } = weather;
    let passed = 0;
    behind.on('data', (bytes) => {
      isAnswered = true;
      const before = passed;
      passed += bytes.length;
      if (passed > stallAfter) return;
      if (passed <= cutAfter) {
        back(bytes.length, () => client.write(bytes));
        return;
      }
      client.write(Buffer.from(bytes).subarray(0, Math.max(0, cutAfter - before)), () => {
        if (cut === 'reset') client.resetAndDestroy();
        else client.destroy();
      });
    });
    behind.on('end', () => back(0, () => client.end()));
    behind.on('close', () => back(0, () => client.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = {
    port: (server.address() as AddressInfo).port,
    /** Called for each connection. */
    weather: (): Weather => ({}),
    /** How often a client sent something after the server had: what it waits for each time is a round trip. */
    roundTrips: 0,
    /** Resets all that is open. @returns how many */
    reset(): number {
      const count = open.size;
      for (const socket of open) socket.resetAndDestroy();
      return count;
    },
    /** Refuses new connections, or takes them again. */
    refuse(refused: boolean): void {
      refusing = refused;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
  return proxy;
}

/** One direction of a connection: what goes in first comes out first. */
function line({ delayMs = 0, bytesPerSecond = Infinity }: Weather): (bytes: number, act: () => void) => void {
  const waiting: (() => void)[] = [];
  let freeAt = 0;
  return (bytes, act) => {
    const now = performance.now();
    freeAt = Math.max(now, freeAt) + (bytes / bytesPerSecond) * 1_000;
    const wait = freeAt - now + delayMs;
    if (wait === 0 && waiting.length === 0) return act();
    waiting.push(act);
    setTimeout(() => waiting.shift()?.(), wait);
  };
}
