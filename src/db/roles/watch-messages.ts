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
  let header: Buffer = Buffer.alloc(0);
  /** Bytes of the message's body that have not come. */
  let rest = 0;
  const onData = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length;) {
      if (rest > 0) {
        const part = Math.min(rest, chunk.length - at);
        rest -= part;
        at += part;
        continue;
      }
      const part = chunk.subarray(at, at + HEADER_BYTES - header.length);
      header = header.length === 0 ? part : Buffer.concat([header, part]);
      at += part.length;
      if (header.length < HEADER_BYTES) return;
      rest = Math.max(0, header.readUInt32BE(1) - 4);
      header = Buffer.alloc(0);
      if (rest > most) {
        stream.off('data', onData);
        onTooLarge(rest);
        return;
      }
    }
  };
  stream.prependListener('data', onData);
}
