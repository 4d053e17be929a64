import { array, assert, constant, integer, oneof, property } from 'fast-check';
import { expect, it } from 'vitest';
import { PassThrough } from 'node:stream';
import { watchMessages } from './read-only-query.ts';

function message(bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes + 5, 'D');
  buffer.writeUInt32BE(bytes + 4, 1);
  return buffer;
}

/** What is called for messages that come in pieces of the given lengths, again and again. */
function refused(sizes: readonly number[], pieces: readonly number[], most: number): number[] {
  const stream = new PassThrough();
  const heard: number[] = [];
  watchMessages(stream, most, (bytes) => heard.push(bytes));
  const all = Buffer.concat(sizes.map(message));
  for (let at = 0, n = 0; at < all.length; n += 1) {
    const length = pieces[n % pieces.length] ?? 1;
    stream.emit('data', all.subarray(at, at + length));
    at += length;
  }
  return heard;
}

it('the first message above the bound is reported by its announced size, however the bytes are split', () => {
  const sizes = array(oneof(integer({ min: 0, max: 40 }), constant(100)), { maxLength: 12 });
  assert(
    property(sizes, array(integer({ min: 1, max: 17 }), { minLength: 1 }), (messages, pieces) => {
      expect(refused(messages, pieces, 40)).toEqual(messages.filter((size) => size > 40).slice(0, 1));
    }),
  );
});
