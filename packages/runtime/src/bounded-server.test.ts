import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { boundedServer } from './bounded-server.ts';
import { systemClock } from './clock.ts';

const sockets: Socket[] = [];
const servers: Server[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function listen(connections: number, headersMs: number): Promise<Server> {
  const server = boundedServer(
    { connections, headersMs, requestMs: headersMs },
    systemClock,
    (_, response) => response.end('served'),
    () => {},
  );
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function open(server: Server): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  return socket.on('error', () => {});
}

/** The status line that answers a whole request, and the body. */
async function ask(server: Server): Promise<string> {
  const socket = open(server);
  let heard = '';
  socket.on('data', (chunk) => (heard += chunk.toString()));
  socket.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n');
  await once(socket, 'close');
  return heard;
}

describe('a bounded server', () => {
  it('keeps its bound under many half-sent requests, answers others 503, and serves again when they are cut off', async () => {
    const server = await listen(20, 500);
    const count = promisify(server.getConnections.bind(server));
    for (let n = 0; n < 400; n += 1) open(server).write('GET / HTTP/1.1\r\nX-A: ');
    await eventually('its bound', async () => (await count()) >= 20);
    expect(await ask(server)).toMatch(/^HTTP\/1.1 503 .*not now/s);
    expect(await count()).toBeLessThanOrEqual(20 + 50);
    await eventually('room', async () => (await ask(server)).startsWith('HTTP/1.1 200'));
  });

  it('lets go of a refused sender that never stops sending', async () => {
    const server = await listen(1, 60_000);
    open(server).write('GET / HTTP/1.1\r\nX-A: ');
    await eventually('the bound', async () => (await ask(server)).startsWith('HTTP/1.1 503'));
    const { port } = server.address() as AddressInfo;
    const endless = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(endless);
    endless.on('error', () => {}).resume();
    const more = setInterval(() => endless.write('x'), 20);
    await new Promise((resolve) => endless.once('close', resolve));
    clearInterval(more);
    expect(endless.destroyed).toBe(true);
  });
});
