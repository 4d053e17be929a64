import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { AnswerTooLarge, MalformedAnswer, TransportError } from '../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';

/** What was read of an answer's body: its text, or why there is none. `bytes` counts what came over the wire. */
export type Body =
  | { readonly bytes: number; readonly text: string }
  | { readonly bytes: number; readonly error: BodyError };

export type BodyError = MalformedAnswer | TransportError | AnswerTooLarge;

/** What an answer's headers say of its body: `Content-Encoding`, and `Content-Length`. */
export interface BodyHeaders {
  readonly encoding: string | string[] | undefined;
  /** A body that tells itself that it is too large is not read at all. */
  readonly declared: string | string[] | undefined;
}

const decompress = promisify(gunzip);

/**
 * Reads a body to its end, at most `maxBytes` before and after decompression, as UTF-8 (RFC 8259; a byte order
 * mark is dropped). More than that is never held in memory, and the connection is closed.
 * @param signal ends it; a TransportError as its reason (the deadline) ends the body alone: the headers have come, and
 *   they count for the budget
 * @param whenAborted what any other reason does: `keep-status` ends the body alone, too
 * @throws only what aborted `signal`
 */
export async function readAnswerBody(
  stream: Readable,
  { encoding, declared }: BodyHeaders,
  maxBytes: number,
  signal: AbortSignal,
  whenAborted: 'throw' | 'keep-status',
): Promise<Body> {
  if (Number(declared) > maxBytes) {
    stream.on('error', () => {}).destroy();
    return { bytes: 0, error: tooLarge(maxBytes) };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return { bytes, error: tooLarge(maxBytes) };
      chunks.push(chunk);
    }
  } catch (error) {
    if (whenAborted === 'throw' && !(signal.reason instanceof TransportError)) signal.throwIfAborted();
    return {
      bytes,
      error: new TransportError(`the body broke off after ${bytes} bytes: ${messageOf(error)}`),
    };
  }
  const decoded = await decode(Buffer.concat(chunks, bytes), String(encoding ?? 'identity'), maxBytes);
  return decoded instanceof Error ? { bytes, error: decoded } : { bytes, text: decoded };
}

async function decode(raw: Buffer, encoding: string, maxBytes: number): Promise<string | BodyError> {
  let plain = raw;
  const name = encoding.trim().toLowerCase();
  // An empty body is empty in every encoding: servers name one even with a 204.
  if (raw.length === 0) return '';
  if (name === 'gzip' || name === 'x-gzip') {
    try {
      plain = await decompress(raw, { maxOutputLength: maxBytes });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(maxBytes);
      return new TransportError(`the body is no whole gzip: ${messageOf(error)}`);
    }
  } else if (name !== 'identity' && name !== '') {
    return new MalformedAnswer(`the body has an encoding that was not asked for (${name.slice(0, 40)})`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(plain);
  } catch {
    return new MalformedAnswer('the body is not UTF-8');
  }
}

function tooLarge(maxBytes: number): AnswerTooLarge {
  return new AnswerTooLarge(`the body is larger than ${maxBytes} bytes`);
}
