import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { longReadings } from './account-reader.ts';
import { EMPTY_OUTCOME, type ReadOutcome } from './walk-result.ts';

/** Readings of lists, and when they reported that they were running, s. */
function readings() {
  const clock = new VirtualClock();
  const begin = clock.now();
  const told: number[] = [];
  const store = {
    saveCollection: (_: string, { readingAt }: { readonly readingAt?: Date }) => {
      told.push(((readingAt?.getTime() ?? 0) - begin) / 1_000);
      return Promise.resolve();
    },
  };
  const duringLong = longReadings({ clock, store: store as never });
  /** One that takes so long (s). */
  const read = async (seconds: number, atOnce: boolean, error?: Error): Promise<void> => {
    const reading = duringLong('lists', { atOnce }, async (): Promise<ReadOutcome> => {
      await clock.sleep(seconds * 1_000);
      return { ...EMPTY_OUTCOME, error };
    });
    await clock.advance(seconds * 1_000);
    await reading;
  };
  return { read, told };
}

it('a long reading reports at once and each minute', async () => {
  const { read, told } = readings();
  await read(150, true);
  expect(told).toEqual([0, 60, 120]);
});

it('a reading that may be short reports after a minute', async () => {
  const { read, told } = readings();
  await read(59, false);
  expect(told).toEqual([]);
  await read(70, false);
  expect(told).toEqual([59 + 60]);
});

it('a long reading reports nothing after a failed one, until one has ended well', async () => {
  const { read, told } = readings();
  await read(10, true, new Error('away'));
  expect(told).toEqual([0]);
  await read(100, true, new Error('away'));
  await read(100, true);
  expect(told).toEqual([0]);
  await read(10, true);
  expect(told).toEqual([0, 210]);
});
