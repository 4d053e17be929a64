import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/**
 * What becomes of new connections while the address leads nowhere: they are refused, as by a machine that is there, or
 * wait, as for one that is not.
 */
export type WhileAway = 'refuse' | 'wait';

/** A TCP address of loopback that leads to one server after another, as a DNS name or a virtual IP does. */
export async function createAddress(target?: number, whileAway: WhileAway = 'refuse') {
  const open = new Set<Socket>();
  const waiting = new Set<Socket>();
  let leadsTo = target;
  const join = (client: Socket, port: number): void => {
    const behind = connect(port, '127.0.0.1');
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
  };
  const server = createServer((client) => {
    if (leadsTo !== undefined) join(client, leadsTo);
    else if (whileAway === 'refuse') client.resetAndDestroy();
    else {
      waiting.add(client);
      client.on('error', () => {});
      client.on('close', () => waiting.delete(client));
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** Cuts every connection; new ones come to this port; undefined: to none yet. */
    leadTo(port: number | undefined): void {
      leadsTo = port;
      for (const socket of open) socket.resetAndDestroy();
      if (port === undefined) return;
      for (const client of waiting) join(client, port);
      waiting.clear();
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of [...open, ...waiting]) socket.destroy();
      }),
  };
}
