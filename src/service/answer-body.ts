import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { AnswerHeaders } from './rate-headers.ts';
import { AnswerTooLarge, MalformedAnswer, TransportError } from '../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';

/** An answer's body, as far as it was read. */
export interface AnswerBody {
  /** Bytes on the wire. */
  readonly bytes: number;
  /** '' if the body could not be read. */
  readonly text: string;
  /** Why the body could not be read to its end. */
  readonly bodyError: BodyError | undefined;
}

type BodyError = MalformedAnswer | TransportError | AnswerTooLarge;

const decompress = promisify(gunzip);

/**
 * Reads a body as UTF-8 (RFC 8259; a byte order mark is dropped). It stops and closes the connection at `maxBytes`,
 * before or after decompression, and reads nothing if `Content-Length` is greater.
 * @param signal ends the reading. A TransportError as its reason (the deadline) ends the body alone: the headers count
 * @param whenAborted the effect of any other reason: `keep-status` ends the body alone, too
 * @throws only the signal's reason
 */
export async function readAnswerBody(
  stream: Readable,
  headers: AnswerHeaders,
  maxBytes: number,
  signal: AbortSignal,
  whenAborted: 'throw' | 'keep-status',
): Promise<AnswerBody> {
  const unread = (bytes: number, bodyError: BodyError): AnswerBody => ({ bytes, text: '', bodyError });
  if (Number(headers['content-length']) > maxBytes) {
    stream.on('error', () => {}).destroy();
    return unread(0, tooLarge(maxBytes));
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return unread(bytes, tooLarge(maxBytes));
      chunks.push(chunk);
    }
  } catch (error) {
    if (whenAborted === 'throw' && !(signal.reason instanceof TransportError)) signal.throwIfAborted();
    const message = `the body broke off after ${bytes} bytes: ${messageOf(error)}`;
    return unread(bytes, new TransportError(message));
  }
  const encoding = String(headers['content-encoding'] ?? 'identity');
  const decoded = await decode(Buffer.concat(chunks, bytes), encoding, maxBytes);
  return decoded instanceof Error ? unread(bytes, decoded) : { bytes, text: decoded, bodyError: undefined };
}

async function decode(raw: Buffer, encoding: string, maxBytes: number): Promise<string | BodyError> {
  let plain = raw;
  const name = encoding.trim().toLowerCase();
  // Servers name an encoding even with a 204.
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
