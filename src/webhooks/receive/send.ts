import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@research-mirror/runtime/clock';
import type { ListenerAnswer } from './answer.ts';
import type { ByteRate } from './byte-rate.ts';

/** How much more of a refused body is read and thrown away, and for how long (ms). */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 1_000;

/**
 * Answers a request. Where its body has not been read to the end, the connection is closed after a while: a sender
 * that is still sending would be reset at once, and never see the answer. The bytes that come meanwhile are thrown
 * away, as far as `rate` allows.
 */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ListenerAnswer,
  clock: Clock,
  rate: ByteRate,
): Promise<void> {
  if (response.destroyed) return;
  const length = { 'content-length': Buffer.byteLength(body) };
  if (request.readableEnded || !hasBody(request)) {
    response.writeHead(status, { ...headers, ...length }).end(body);
    return;
  }
  response.writeHead(status, { ...headers, ...length, connection: 'close' });
  response.write(body);
  if (rate.take(LINGER_BYTES)) await thrownAway(request, clock);
  response.end();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Resolves when the body has ended, or enough of it has come, or enough time has passed. */
function thrownAway(request: IncomingMessage, clock: Clock): Promise<void> {
  const over = new AbortController();
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (): void => {
      over.abort();
      request.off('data', onData).off('end', end).off('close', end);
      resolve();
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > LINGER_BYTES) end();
    };
    clock.sleep(LINGER_MS, over.signal).then(end, () => {});
    request.on('data', onData).on('end', end).on('close', end);
    request.resume();
    if (request.destroyed) end();
  });
}
