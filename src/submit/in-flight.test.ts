import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { BackInQueue, InFlight } from './in-flight.ts';

function laneOf(size: number): { readonly inFlight: InFlight; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  return { inFlight: new InFlight(clock, () => size), clock };
}

it('a group of submissions has as many under way as its limit allows, 32 at most', () => {
  const { inFlight } = laneOf(2);
  inFlight.add('1');
  expect(inFlight.hasRoom).toBe(true);
  inFlight.add('2');
  expect(inFlight.hasRoom).toBe(false);
  inFlight.ended('1');
  expect(inFlight.hasRoom).toBe(true);
  expect(laneOf(500).inFlight.width).toBe(32);
});

it('a group of submissions pauses for the longest time that was asked for', async () => {
  const { inFlight, clock } = laneOf(10);
  inFlight.pause(5_000);
  inFlight.pause(1_000);
  expect(inFlight.pausedForMs).toBe(5_000);
  await clock.advance(6_000);
  expect(inFlight.pausedForMs).toBe(0);
});

it('a group of submissions sends what waits for a slot back into the queue when it pauses, but not what is claimed', () => {
  const { inFlight } = laneOf(10);
  const [waits, claimed] = [inFlight.add('1'), inFlight.add('2')];
  inFlight.claimed('2');
  inFlight.pause(1_000);
  expect(waits.reason).toBeInstanceOf(BackInQueue);
  expect(claimed.aborted).toBe(false);
  expect([inFlight.has('1'), inFlight.has('2'), inFlight.has('3')]).toEqual([true, true, false]);
});
