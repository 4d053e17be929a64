import { connect, createServer, type Socket } from 'node:net';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

/** While the address leads nowhere: connections are refused, or wait as for a machine that does not answer. */
export type WhileAway = 'refuse' | 'wait';

export type Address = Awaited<ReturnType<typeof createAddress>>;

/** A TCP address of loopback that leads to one server after another, as a DNS name or a virtual IP does. */
export async function createAddress(target: number, whileAway: WhileAway = 'refuse') {
  const open = new Set<Socket>();
  const waiting = new Set<Socket>();
  let leadsTo: number | undefined = target;
  const join = (client: Socket, to: number): void => {
    const behind = connect(to, '127.0.0.1');
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
    else {
      waiting.add(client);
      client.on('error', () => {});
      client.on('close', () => waiting.delete(client));
    }
  });
  // A port that the system gives to no other program while nothing listens on it.
  const port = await nonEphemeralPort();
  const listen = (): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen();
  return {
    port,
    /** Cuts every connection; new ones come to this port; undefined: to none yet. */
    async leadTo(next: number | undefined): Promise<void> {
      leadsTo = next;
      for (const socket of open) socket.resetAndDestroy();
      if (next === undefined) {
        if (whileAway === 'refuse') server.close();
        return;
      }
      if (!server.listening) await listen();
      for (const client of waiting) join(client, next);
      waiting.clear();
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of [...open, ...waiting]) socket.destroy();
      }),
  };
}
