import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach } from 'vitest';

/** A message of PostgreSQL's protocol (version 3): type, length, content. */
export function message(type: string, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + bytes.length);
  return Buffer.concat([Buffer.from(type), length, bytes]);
}

/** A user is signed in, and may ask. */
export const LET_IN = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', 'I')]);

/** For a test file: servers on loopback, each until its test ends. */
export function emulatedServers() {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  /** Ends all connections. */
  const cut = (): void => {
    for (const socket of sockets.splice(0)) socket.destroy();
  };
  afterEach(() => {
    cut();
    for (const server of servers.splice(0)) server.close();
  });
  return {
    cut,
    /** @returns how to reach a server that meets its nth connection so, and how many it has had */
    listen: async (meets: (socket: Socket, nth: number) => void) => {
      const seen = { connections: 0 };
      const server = createServer((socket) => {
        sockets.push(socket);
        seen.connections += 1;
        socket.on('error', () => {});
        meets(socket, seen.connections);
      });
      servers.push(server);
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      const { port } = server.address() as AddressInfo;
      return { seen, place: { host: '127.0.0.1', port, user: 'u', database: 'd' } };
    },
  };
}
