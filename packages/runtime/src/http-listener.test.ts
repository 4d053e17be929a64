import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { systemClock } from './clock.ts';
import { httpListener, type HttpReply } from './http-listener.ts';
import { Notes } from './notes.ts';

type HttpListener = ReturnType<typeof httpListener>;

const sockets: Socket[] = [];
const listeners: HttpListener[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const listener of listeners.splice(0)) await listener.stop();
});

async function listen(bounds: { connections?: number; headersMs?: number }): Promise<HttpListener> {
  const text = (status: number, body: string): HttpReply => ({ status, headers: {}, body });
  const listener = httpListener({
    name: 'test server',
    what: 'tests',
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    notes: new Notes(systemClock, { info: () => {}, warn: () => {} }),
    bounds,
    answerMs: 1_000,
    explain: (error) => error,
    answer: async ({ body }) => text(200, `served ${body.length}`),
    refusal: text,
    onDefect: () => {},
  });
  listeners.push(listener);
  await listener.start();
  return listener;
}

function open(listener: HttpListener): Socket {
  const socket = connect(listener.address().port, '127.0.0.1');
  sockets.push(socket);
  return socket.on('error', () => {});
}

/** The status line that answers a whole request, and the body. */
async function ask(listener: HttpListener): Promise<string> {
  const socket = open(listener);
  let heard = '';
  socket.on('data', (chunk) => (heard += chunk.toString()));
  socket.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n');
  await once(socket, 'close');
  return heard;
}

describe('a listener', () => {
  it('keeps its bound under many half-sent requests, answers others 503, and serves again when they are cut off', async () => {
    const listener = await listen({ connections: 20, headersMs: 500 });
    const half = Array.from({ length: 400 }, () => open(listener));
    for (const socket of half) socket.resume().write('GET / HTTP/1.1\r\nX-A: ');
    await eventually('its bound', () => half.filter(({ destroyed }) => destroyed).length >= 400 - 20);
    expect(await ask(listener)).toMatch(/^HTTP\/1.1 503 .*not now/s);
    await eventually('room', async () => (await ask(listener)).startsWith('HTTP/1.1 200'));
  });

  it('lets go of a refused sender that never stops sending', async () => {
    const listener = await listen({ connections: 1 });
    open(listener).write('GET / HTTP/1.1\r\nX-A: ');
    await eventually('the bound', async () => (await ask(listener)).startsWith('HTTP/1.1 503'));
    const { port } = listener.address();
    const endless = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(endless);
    endless.on('error', () => {}).resume();
    const more = setInterval(() => endless.write('x'), 20);
    await new Promise((resolve) => endless.once('close', resolve));
    clearInterval(more);
    expect(endless.destroyed).toBe(true);
  });

  it('counts what it takes to hold a body cut small: 64 MiB are memory, not what is announced', async () => {
    const listener = await listen({});
    const socket = open(listener);
    let heard = '';
    socket.on('data', (chunk) => (heard += chunk.toString()));
    socket.write('POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n');
    const cutSmall = '1\r\nx\r\n'.repeat(10_000);
    for (let n = 0; n < 20; n += 1) socket.write(cutSmall);
    await once(socket, 'close');
    expect(heard).toMatch(/^HTTP\/1.1 503 /);
  });
});
