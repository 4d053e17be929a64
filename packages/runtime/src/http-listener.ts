import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from './clock.ts';
import { messageOf } from './message.ts';
import type { Notes } from './notes.ts';
import { service, untilAborted } from './service.ts';

/** What strangers can take of the process. */
export const HTTP_BOUNDS = {
  /** More are answered 503 and closed. */
  connections: 1_000,
  /** Of one body; beyond: 413. */
  bodyBytes: 1024 * 1024,
  /** Of all requests in hand; beyond: 503. */
  roomBytes: 64 * 1024 * 1024,
  /** For a request's headers, and for all of it; then 408. */
  headersMs: 5_000,
  requestMs: 10_000,
};

/** All headers of a request; it takes room for them. */
const HEADER_BYTES = 16 * 1024;
/** Room for each piece of a body beside its bytes: senders may cut them small. */
const PIECE_ROOM = 512;
/** Longer than proxies keep idle connections: they should close first. */
const IDLE_MS = 65_000;
/** How often the time-outs are checked. */
const CHECK_MS = 1_000;
/** Connections beyond the bound that are answered; further ones are closed without an answer. */
const REFUSED = 50;
/** What is still read of a refused sender: a reset would take its answer away. */
const LINGER_MS = 1_000;
const LINGER_BYTES = 1024 * 1024;
/** For requests under way at a stop. */
const GRACE_MS = 1_000;

const TOO_MANY_CONNECTIONS =
  'HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 41\r\n' +
  'Retry-After: 5\r\nConnection: close\r\n\r\nnot now: too many connections at a time\r\n';

export interface HttpRequest {
  readonly method: string;
  /** A path with its query; proxies may send a whole address. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** An answer; HEAD gets no body. */
export interface HttpReply {
  readonly status: number;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface HttpListenerOptions<Reply extends HttpReply> {
  /** Of the service. */
  readonly name: string;
  /** What it is for, in log lines. */
  readonly what: string;
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly notes: Notes;
  readonly bounds?: Partial<typeof HTTP_BOUNDS>;
  /** Milliseconds for an answer; then 503. */
  readonly answerMs: number;
  /** Makes the error to throw if the port can't be opened. */
  readonly explain: (error: NodeJS.ErrnoException) => Error;
  readonly answer: (request: HttpRequest) => Promise<Reply>;
  /** Makes the answer to a request that is not answered by `answer`. */
  readonly refusal: (status: 413 | 500 | 503, text: string) => Reply;
  readonly onDefect: (error: unknown, target: string) => void;
  readonly onReply?: (target: string, reply: Reply) => void;
}

/**
 * Node's HTTP server behind bounds, as a service, which ends when all connections have. Without a framework: the web's
 * `Request` and `Response`, which those need, take 19 MB and 60 ms of processor time when they are loaded.
 */
export function httpListener<Reply extends HttpReply>(options: HttpListenerOptions<Reply>) {
  const { name, what, host, port, clock, notes, explain } = options;
  const bounds = { ...HTTP_BOUNDS, ...options.bounds };
  let open: AddressInfo | undefined;
  const body = service(name, async ({ signal, ready }) => {
    const server = boundedServer(bounds, options, requests(bounds, options));
    server.listen(port, host);
    await once(server, 'listening').catch((error: unknown) => {
      throw explain(error as NodeJS.ErrnoException);
    });
    server.on('error', (error) =>
      notes.say('warn', 'accept', `a connection for ${what} could not be accepted: ${messageOf(error)}`),
    );
    open = server.address() as AddressInfo;
    ready();
    await untilAborted(signal);
    await closed(server, clock);
  });
  return {
    ...body,
    /** Where it listens. @throws RangeError before it has started */
    address(): AddressInfo {
      if (open === undefined) throw new RangeError(`the ${name} has not started`);
      return open;
    },
  };
}

async function closed(server: Server, clock: Clock): Promise<void> {
  const over = new AbortController();
  clock.sleep(GRACE_MS, over.signal).then(
    () => server.closeAllConnections(),
    () => {},
  );
  await new Promise((resolve) => server.close(resolve));
  over.abort();
}

type Take = (request: IncomingMessage, response: ServerResponse) => void;

function boundedServer(
  { connections, headersMs, requestMs }: typeof HTTP_BOUNDS,
  { what, clock, notes }: Pick<HttpListenerOptions<never>, 'what' | 'clock' | 'notes'>,
  take: Take,
): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: IDLE_MS,
    connectionsCheckingInterval: CHECK_MS,
  });
  server.on('request', take);
  // A sender that asks first is answered before it sends its body.
  server.on('checkContinue', take);
  const tooMany = (): void =>
    notes.say('warn', 'drop', `more than ${connections} connections for ${what}: new ones are refused`);
  server.maxConnections = connections + REFUSED;
  server.on('drop', tooMany);
  const serve = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  let open = 0;
  server.on('connection', (socket: Socket) => {
    if (open < connections) {
      open += 1;
      socket.once('close', () => (open -= 1));
      for (const each of serve) each.call(server, socket);
      return;
    }
    tooMany();
    // Later: connections of the same moment have sent nothing yet.
    setImmediate(() => server.closeIdleConnections());
    const gone = new AbortController();
    socket.on('error', () => {});
    socket.once('close', () => gone.abort());
    clock.sleep(LINGER_MS, gone.signal).then(
      () => socket.destroy(),
      () => {},
    );
    socket.resume();
    socket.end(TOO_MANY_CONNECTIONS);
  });
  return server;
}

/** Reads requests, has them answered, and sends the answers. */
function requests<Reply extends HttpReply>(
  bounds: typeof HTTP_BOUNDS,
  { what, clock, notes, answerMs, answer, refusal, onDefect, onReply }: HttpListenerOptions<Reply>,
): Take {
  let room = bounds.roomBytes;

  const refused = (status: 413 | 503): Reply => {
    if (status === 413) {
      const size = `more than ${bounds.bodyBytes} bytes`;
      notes.say('warn', 'too large', `a request for ${what} had ${size}, and was refused`);
      return refusal(413, size);
    }
    notes.say('warn', 'no room', `too many requests for ${what} at a time: some must be retried`);
    return refusal(503, 'not now: too many requests at a time');
  };

  /** The answer, or 503 if it takes too long. The work goes on. */
  const inTime = async (work: Promise<Reply>): Promise<Reply> => {
    const over = new AbortController();
    const late = clock.sleep(answerMs, over.signal).then(
      () => {
        notes.say('warn', 'slow', `the database takes too long: requests for ${what} must be retried`);
        return refusal(503, 'not now: the database takes too long');
      },
      () => work,
    );
    return Promise.race([work, late]).finally(() => over.abort());
  };

  const replyTo = async (request: IncomingMessage, response: ServerResponse): Promise<Reply | undefined> => {
    let taken = 0;
    const reserve = (bytes: number): boolean => {
      if (bytes > room) return false;
      room -= bytes;
      taken += bytes;
      return true;
    };
    const release = (): void => void (room += taken);
    const body = await readBody(request, response, bounds.bodyBytes, reserve);
    if (!Buffer.isBuffer(body)) {
      release();
      return body && refused(body);
    }
    const { method = '', url: target = '', headers } = request;
    // Released when the work has ended, which may be long after the answer.
    return inTime(answer({ method, target, headers, body }).finally(release));
  };

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Without a listener the error of a sender that goes away would end the process.
    request.on('error', () => {});
    response.on('error', () => {});
    const { url = '', method } = request;
    const failed = (error: unknown): Reply => {
      onDefect(error, url);
      return refusal(500, 'internal error');
    };
    const reply = await replyTo(request, response).catch(failed);
    if (reply === undefined) return;
    onReply?.(url, reply);
    if (response.destroyed) return;
    if (!request.readableEnded) return sendEarly(request, response, reply, clock);
    response.writeHead(reply.status, headersOf(reply)).end(method === 'HEAD' ? undefined : reply.body);
  };
  return (request, response) =>
    void take(request, response).catch((error: unknown) => {
      response.destroy();
      notes.say('warn', 'defect', `a request for ${what} could not be answered: ${messageOf(error)}`);
    });
}

/** A body to its end; 413 or 503: refused; undefined: its sender went away. Room is taken for what has come. */
function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  most: number,
  reserve: (bytes: number) => boolean,
): Promise<Buffer | 413 | 503 | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > most) return Promise.resolve(413);
  if (!reserve(HEADER_BYTES)) return Promise.resolve(503);
  if (request.headers.expect !== undefined) response.writeContinue();
  const pieces: Buffer[] = [];
  let length = 0;
  return new Promise((resolve) => {
    const end = (result: Buffer | 413 | 503 | undefined): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause();
      resolve(result);
    };
    const onData = (piece: Buffer): void => {
      length += piece.length;
      if (length > most) end(413);
      else if (!reserve(piece.length + PIECE_ROOM)) end(503);
      else pieces.push(piece);
    };
    const onEnd = (): void => end(Buffer.concat(pieces));
    const onClose = (): void => end(undefined);
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

/** Sends an answer before its request has ended, and closes the connection. */
async function sendEarly(request: IncomingMessage, response: ServerResponse, reply: HttpReply, clock: Clock) {
  response.writeHead(reply.status, { ...headersOf(reply), connection: 'close' }).write(reply.body);
  const over = new AbortController();
  let left = LINGER_BYTES;
  request.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) over.abort();
  });
  request.once('end', () => over.abort()).once('close', () => over.abort());
  request.resume();
  await clock.sleep(LINGER_MS, over.signal).catch(() => {});
  response.end();
}

function headersOf({ headers, body }: HttpReply): Record<string, string | number> {
  return { ...headers, 'content-length': Buffer.byteLength(body) };
}
