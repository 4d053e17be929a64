import type { IncomingMessage } from 'node:http';

/** Largest request body: 10 MiB. */
const MAX_BYTES = 10 * 1024 * 1024;

/** The request's body as text; undefined where it is too large. @throws where the client disconnects before its end */
export async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_BYTES ? undefined : Buffer.concat(chunks).toString();
}

/**
 * The address of a request, whatever its target is; a proxy's request has a whole URL. A target that is no address has
 * the path `/`, where no endpoint is.
 */
export function addressOf({ url = '/' }: IncomingMessage): URL {
  // Of two slashes at the beginning the rest is no host: the host is put before them.
  return URL.parse(url.startsWith('/') ? `http://sandbox${url}` : url) ?? new URL('http://sandbox/');
}
