import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach } from 'vitest';
import {
  createTransport,
  type HttpAnswer,
  type HttpRequest,
  type Transport,
} from '../../../src/service/transport.ts';
import { systemClock } from '@research-mirror/runtime/clock';

type Options = Parameters<typeof createTransport>[0];

/** Servers that tests play below HTTP, and requests to them. To be called once in a test file: all are closed after each test. */
export function socketServers() {
  const closing: (() => void)[] = [];
  /** Closes all that was opened so far. */
  const closeAll = (): void => {
    for (const close of closing.splice(0).toReversed()) close();
  };
  afterEach(closeAll);
  /** Listens on loopback. @returns its port */
  const serve = async (server: Server): Promise<number> => {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket.on('error', () => {}));
    });
    closing.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  /** A server of plain TCP: `onConnection` has each connection's socket. @returns its port */
  const tcp = (onConnection: (socket: Socket) => void): Promise<number> => serve(createServer(onConnection));
  /** Keeps what it is sent, and answers `200` with an empty object. */
  const service = async () => {
    const received: IncomingMessage[] = [];
    const port = await serve(
      createHttpServer((request, response) => {
        received.push(request);
        request.resume().on('end', () => response.end('{}'));
      }),
    );
    return { port, received };
  };
  /** A proxy that accepts whatever tunnel it is asked for, and leads it to `port`. @returns its own port */
  const tunnelTo = (port: number): Promise<number> =>
    tcp((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        const onward = connect(port, '127.0.0.1').on('error', () => {});
        onward.pipe(socket).pipe(onward);
      });
    });
  const transport = (options: Pick<Options, 'baseUrl'> & Partial<Options>): Transport => {
    const made = createTransport({ clock: systemClock, userAgent: 'test', ...options });
    closing.push(() => void made.close());
    return made;
  };
  /** A `POST` of its own transport. */
  const post = (
    baseUrl: string,
    asked: Partial<HttpRequest> = {},
    options: Partial<Options> = {},
  ): Promise<HttpAnswer> =>
    transport({ baseUrl, ...options }).send({
      method: 'POST',
      path: '/v1/research',
      key: 'sk_test',
      body: '{"url":"https://example.com"}',
      signal: new AbortController().signal,
      once: true,
      maxBytes: 1000,
      ...asked,
    });
  return { serve, tcp, service, tunnelTo, transport, post, closeAll };
}

/** TLS goes through the proxy on this port of loopback. */
export function through(port: number): NonNullable<Options['proxy']> {
  return { http: undefined, https: `http://127.0.0.1:${port}`, except: undefined };
}
