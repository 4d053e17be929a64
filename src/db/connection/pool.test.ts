import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { createPool } from './pool.ts';

let server: Server | undefined;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
});

/** A message of PostgreSQL's protocol (version 3): type, length, content. */
function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + content.length);
  return Buffer.concat([Buffer.from(type), length, content]);
}

const SIGNED_IN = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const SHUT_DOWN = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'));

describe('a connection that the server ends', () => {
  it('in the moment in which it stands ends neither the process nor the pool', async () => {
    let connections = 0;
    server = createServer((socket) => {
      sockets.push(socket);
      connections += 1;
      // In one piece, as a busy network delivers it.
      socket.once('data', () => socket.end(Buffer.concat([SIGNED_IN, READY, SHUT_DOWN])));
    });
    const { port } = await new Promise<AddressInfo>((resolve) => {
      server?.listen(0, '127.0.0.1', () => resolve(server?.address() as AddressInfo));
    });
    const pool = createPool(
      { host: '127.0.0.1', port, user: 'u', database: 'd' },
      { max: 1, answerWithin: 5_000 },
    );
    for (const attempt of [1, 2]) {
      const client = await pool.connect();
      await expect(client.query('select 1', [])).rejects.toThrow(DatabaseUnavailable);
      client.release();
      expect(connections).toBe(attempt);
    }
    await pool.end();
  });
});
