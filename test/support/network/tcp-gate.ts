import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP address that stands before the database: it can be gone, and come back. */
export interface TcpGate {
  readonly url: string;
  close(): Promise<void>;
  open(): Promise<void>;
}

/** @param databaseUrl what is behind it */
export async function createTcpGate(databaseUrl: string): Promise<TcpGate> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(target.port || 5432), target.hostname);
    for (const each of [socket, onward]) {
      sockets.add(each);
      each
        .on('error', () => {})
        .once('close', () => {
          sockets.delete(each);
          socket.destroy();
          onward.destroy();
        });
    }
    socket.pipe(onward).pipe(socket);
  });
  const open = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  await open(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    open: () => open(port),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
