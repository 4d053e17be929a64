import type { Duplex } from 'node:stream';

/** Bytes of one message of the server: a row, a piece of a copy, an error. */
export const MOST_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Type (one byte) and length (four, which count themselves). */
const HEADER_BYTES = 5;

/**
 * Watches the messages that arrive by `stream`, and calls `onTooLarge` when one announces more than `most` bytes. The
 * driver holds each message whole, twice over, before it gives any of it away, so the announcement is the last moment
 * to refuse it.
 * @param stream at a boundary between two messages
 */
export function watchMessages(stream: Duplex, most: number, onTooLarge: (bytes: number) => void): void {
  /** A header of which the rest has not come. */
  let header: Buffer = Buffer.alloc(0);
  /** Bytes of the message's body that have not come. */
  let rest = 0;
  const onData = (chunk: Buffer): void => {
    let left = header.length === 0 ? chunk : Buffer.concat([header, chunk]);
    for (;;) {
      const body = Math.min(rest, left.length);
      rest -= body;
      header = left.subarray(body);
      if (header.length < HEADER_BYTES) return;
      rest = Math.max(0, header.readUInt32BE(1) - 4);
      left = header.subarray(HEADER_BYTES);
      if (rest > most) {
        stream.off('data', onData);
        onTooLarge(rest);
        return;
      }
    }
  };
  stream.prependListener('data', onData);
}
