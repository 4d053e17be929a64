import type { Readable } from 'node:stream';
import type { Room } from './room.ts';

/** A body in memory; its room is taken until `release`. */
export interface BufferedBody {
  readonly bytes: Buffer;
  /** To be called once, when nobody needs the bytes any more. */
  readonly release: () => void;
}

/** Why there is no body: more than `maxBytes`; no room for it now; the sender went away before its end. */
export type NoBody = 'too-large' | 'no-room' | 'broken';

/** What a body takes at first: what most have. It counts even for an empty one, so that deliveries in hand are bounded too. */
export const FIRST_BYTES = 16 * 1024;

/**
 * Reads a body to its end, or as far as it may be held; what follows stays in the stream, which is paused then. Room
 * is taken for bytes that have come, not for those that are announced: whoever sends slowly holds only what it sent.
 * The bytes are copied into one piece, since the pieces in which they come may each keep much more memory than they show.
 * @param large asked before more bytes are held than a usual delivery has
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
      // Whatever becomes of the stream now, nobody waits for it.
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
