import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { BackInQueue, InFlight } from './submitter.ts';

function lane(): { readonly inFlight: InFlight; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  return { inFlight: new InFlight(clock), clock };
}

it('a group of submissions has 32 under way at most, and one while nothing can be sent', async () => {
  const { inFlight } = lane();
  for (let id = 1; id < 32; id += 1) inFlight.active.set(String(id), new AbortController());
  expect(inFlight.hasRoom).toBe(true);
  inFlight.active.set('32', new AbortController());
  expect(inFlight.hasRoom).toBe(false);
  inFlight.active.delete('1');
  expect(inFlight.hasRoom).toBe(true);

  const failing = lane();
  failing.inFlight.failed(1_000);
  await failing.clock.advance(1_000);
  expect(failing.inFlight.hasRoom).toBe(true);
  failing.inFlight.active.set('1', new AbortController());
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

it('a group of submissions sends those that wait for a slot back into the queue when it pauses', () => {
  const { inFlight } = lane();
  const waits = new AbortController();
  inFlight.active.set('1', waits).set('2', undefined);
  inFlight.pause(1_000);
  expect(waits.signal.reason).toBeInstanceOf(BackInQueue);
  expect([...inFlight.active.keys()]).toEqual(['1', '2']);
});
