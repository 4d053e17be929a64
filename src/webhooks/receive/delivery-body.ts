import type { Readable } from 'node:stream';
import type { Room } from './room.ts';

/** A body in memory, which takes up room until `release`. */
export interface BufferedBody {
  readonly bytes: Buffer;
  /** To be called once, when nobody needs the bytes any more. */
  readonly release: () => void;
}

/** Why there is no body: more than `maxBytes`; no room for it now; the sender went away before its end. */
export type NoBody = 'too-large' | 'no-room' | 'broken';

/** Room that a body takes at first: most need no more. Empty ones take it too: it bounds the deliveries in hand. */
export const FIRST_BYTES = 16 * 1024;

/**
 * Reads a body to its end, or as far as there is room; the stream is then paused, with the rest in it. Room is taken
 * for bytes that have come, not for announced ones: a slow sender takes only what it sent. The bytes are copied into
 * one buffer, since each chunk may keep much more memory alive than it shows.
 * @param large asked before a body takes more room than a usual one
 */
export function readDeliveryBody(
  stream: Readable,
  room: Room,
  maxBytes: number,
  large: (bytes: number) => boolean = () => true,
): Promise<BufferedBody | NoBody> {
  let buffered = Buffer.allocUnsafe(0);
  let length = 0;
  const reserve = (least: number): NoBody | undefined => {
    if (least > maxBytes) return 'too-large';
    const size = Math.min(maxBytes, Math.max(FIRST_BYTES, least, 2 * buffered.length));
    const more = size - buffered.length;
    if ((buffered.length > 0 && !large(more)) || !room.take(more)) return 'no-room';
    const larger = Buffer.allocUnsafeSlow(size);
    buffered.copy(larger, 0, 0, length);
    buffered = larger;
    return undefined;
  };
  const failed = reserve(0);
  if (failed !== undefined) return Promise.resolve(failed);

  return new Promise((resolve) => {
    const end = (result: BufferedBody | NoBody): void => {
      stream.off('data', onData).off('end', onEnd).off('close', onBroken).off('error', onBroken);
      // Nobody waits for the stream any more: its errors are no failures.
      stream.on('error', () => {});
      if (typeof result === 'string') {
        stream.pause();
        room.give(buffered.length);
      }
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      const total = length + chunk.length;
      const failed = total > buffered.length ? reserve(total) : undefined;
      if (failed !== undefined) {
        end(failed);
        return;
      }
      chunk.copy(buffered, length);
      length = total;
    };
    const onEnd = (): void => {
      end({ bytes: buffered.subarray(0, length), release: () => room.give(buffered.length) });
    };
    const onBroken = (): void => end('broken');
    stream.on('data', onData).on('end', onEnd).on('close', onBroken).on('error', onBroken);
    if (stream.destroyed) onBroken();
  });
}
