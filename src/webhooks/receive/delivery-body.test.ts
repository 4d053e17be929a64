import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BufferedBody, readDeliveryBody } from './delivery-body.ts';
import { Room } from './room.ts';

const MiB = 1024 * 1024;

function stream(...chunks: readonly Buffer[]): PassThrough {
  const through = new PassThrough({ highWaterMark: 16 * MiB });
  for (const chunk of chunks) through.write(chunk);
  through.end();
  return through;
}

describe('readBody', () => {
  it('gives back the bytes as they came, and their room when they are released', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 8 }), async (parts) => {
        const room = new Room(MiB);
        const chunks = parts.map((part) => Buffer.from(part));
        const buffered = (await readDeliveryBody(stream(...chunks), room, MiB)) as BufferedBody;
        expect(buffered.bytes.equals(Buffer.concat(chunks))).toBe(true);
        expect(room.taken).toBeGreaterThanOrEqual(buffered.bytes.length);
        buffered.release();
        expect(room.taken).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it('takes exactly as much as is permitted, and not a byte more', async () => {
    const room = new Room(8 * MiB);
    const most = (await readDeliveryBody(stream(Buffer.alloc(MiB)), room, MiB)) as BufferedBody;
    expect(most.bytes.length).toBe(MiB);
    expect(room.taken).toBe(MiB);
    const before = room.taken;
    expect(await readDeliveryBody(stream(Buffer.alloc(MiB), Buffer.alloc(1)), room, MiB)).toBe('too-large');
    expect(room.taken).toBe(before);
  });

  it('stops reading where it takes no more', async () => {
    const through = stream(Buffer.alloc(MiB + 1), Buffer.alloc(MiB));
    expect(await readDeliveryBody(through, new Room(8 * MiB), MiB)).toBe('too-large');
    expect(through.isPaused()).toBe(true);
    expect(through.readableEnded).toBe(false);
  });

  it('has no room beyond the bytes that may be in memory, until others are released', async () => {
    const room = new Room(MiB);
    const first = (await readDeliveryBody(stream(Buffer.alloc(600_000)), room, MiB)) as BufferedBody;
    expect(await readDeliveryBody(stream(Buffer.alloc(600_000)), room, MiB)).toBe('no-room');
    first.release();
    expect(await readDeliveryBody(stream(Buffer.alloc(600_000)), room, MiB)).toMatchObject({
      release: expect.any(Function) as unknown,
    });
  });

  it('counts deliveries, too: an empty one takes room', async () => {
    const room = new Room(40_000);
    await readDeliveryBody(stream(), room, MiB);
    await readDeliveryBody(stream(), room, MiB);
    expect(await readDeliveryBody(stream(), room, MiB)).toBe('no-room');
  });

  it('gives up its room when the sender goes away', async () => {
    const room = new Room(MiB);
    const broken = new PassThrough();
    broken.write(Buffer.alloc(1000));
    const reading = readDeliveryBody(broken, room, MiB);
    expect(room.taken).toBeGreaterThan(0);
    broken.destroy();
    expect(await reading).toBe('broken');
    expect(room.taken).toBe(0);
    expect(await readDeliveryBody(broken, room, MiB)).toBe('broken');
  });
});
