import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A TCP address of loopback that leads to one server after another, as a DNS name or a virtual IP does. */
export interface Address {
  readonly port: number;
  /** Cuts every connection; new ones come to this port, or are refused. */
  leadTo(port: number | undefined): void;
  close(): Promise<void>;
}

export async function createAddress(target?: number): Promise<Address> {
  const open = new Set<Socket>();
  let leadsTo = target;
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const server = createServer((client) => {
    if (leadsTo === undefined) {
      client.resetAndDestroy();
      return;
    }
    const behind = connect(leadsTo, '127.0.0.1');
    for (const [socket, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    leadTo(port) {
      leadsTo = port;
      cut();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
