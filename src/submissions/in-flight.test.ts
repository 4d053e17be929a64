import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { BackInQueue, InFlight } from './submitter.ts';

function lane(): { readonly inFlight: InFlight; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  return { inFlight: new InFlight(clock), clock };
}

it('a group of submissions has 32 under way at most, and one while nothing can be sent', async () => {
  const { inFlight } = lane();
  for (let id = 1; id < 32; id += 1) inFlight.add(String(id));
  expect(inFlight.hasRoom).toBe(true);
  inFlight.add('32');
  expect(inFlight.hasRoom).toBe(false);
  inFlight.ended('1');
  expect(inFlight.hasRoom).toBe(true);

  const failing = lane();
  failing.inFlight.failed(1_000);
  await failing.clock.advance(1_000);
  expect(failing.inFlight.hasRoom).toBe(true);
  failing.inFlight.add('1');
  expect(failing.inFlight.hasRoom).toBe(false);
});

it('a group of submissions pauses for the longest of several times', async () => {
  const { inFlight, clock } = lane();
  inFlight.pause(5_000);
  inFlight.pause(1_000);
  expect(inFlight.pausedForMs).toBe(5_000);
  await clock.advance(6_000);
  expect(inFlight.pausedForMs).toBe(0);
});

it('a group of submissions sends those that wait for a slot back into the queue when it pauses, but not the claimed ones', () => {
  const { inFlight } = lane();
  const [waits, claimed] = [inFlight.add('1'), inFlight.add('2')];
  inFlight.claimed('2');
  inFlight.pause(1_000);
  expect(waits.reason).toBeInstanceOf(BackInQueue);
  expect(claimed.aborted).toBe(false);
  expect([inFlight.has('1'), inFlight.has('2'), inFlight.has('3')]).toEqual([true, true, false]);
});
