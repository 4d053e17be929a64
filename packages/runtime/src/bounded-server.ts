import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from './clock.ts';

export interface ServerBounds {
  /** Connections at a time; one beyond is answered 503 and closed. */
  readonly connections: number;
  /** For a request's headers, and for the whole of it; milliseconds. */
  readonly headersMs: number;
  readonly requestMs: number;
}

/** Headers of a request, all together. */
const HEADER_BYTES = 16 * 1024;
/** Longer than proxies in front of us keep idle connections: they should close first. */
const IDLE_MS = 65_000;
/** How often the time-outs are checked. */
const CHECK_MS = 1_000;
/** Refused connections that may still be read for a while: one that is closed at once is reset, and loses its answer. */
const MOST_REFUSED = 50;
const REFUSED_MS = 1_000;

const REFUSAL = [
  'HTTP/1.1 503 Service Unavailable',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Length: 41',
  'Retry-After: 5',
  'Connection: close',
  '',
  'not now: too many connections at a time\r\n',
].join('\r\n');

/**
 * Node's HTTP server, which takes at most `bounds.connections` file descriptors, and some more for those that it
 * refuses with 503.
 * @param onRefused called for each connection beyond the bound
 */
export function boundedServer(
  bounds: ServerBounds,
  clock: Clock,
  take: RequestListener,
  onRefused: () => void,
): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: bounds.headersMs,
    requestTimeout: bounds.requestMs,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: CHECK_MS,
  });
  server.on('request', take);
  // A sender that asks first is answered before it sends a body that nobody will read.
  server.on('checkContinue', take);
  const serve = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  let open = 0;
  const refused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    if (open < bounds.connections) {
      open += 1;
      socket.once('close', () => (open -= 1));
      for (const each of serve) each.call(server, socket);
      return;
    }
    // Later, since those that came in the same moment have sent nothing yet either.
    setImmediate(() => server.closeIdleConnections());
    refuse(socket, refused, clock);
    onRefused();
  });
  return server;
}

/** Answers without reading a request; the oldest refused connection makes room for the newest. */
function refuse(socket: Socket, refused: Set<Socket>, clock: Clock): void {
  const [oldest] = refused;
  if (oldest !== undefined && refused.size >= MOST_REFUSED) {
    refused.delete(oldest);
    oldest.destroy();
  }
  refused.add(socket);
  const over = new AbortController();
  socket.on('error', () => {});
  socket.once('close', () => {
    refused.delete(socket);
    over.abort();
  });
  clock.sleep(REFUSED_MS, over.signal).then(
    () => socket.destroy(),
    () => {},
  );
  // What it sends is thrown away: unread bytes would turn the end of the connection into a reset.
  socket.resume();
  socket.end(REFUSAL);
}
