import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { attemptSignal } from './attempt.ts';

type Step = 'sent' | 'stop' | 'abort' | 'ended' | number;

/** `why`: the reason with which it is aborted in the end. */
it.each<[string, readonly Step[], string | undefined]>([
  ['ends a wait for a slot as soon as there is a stop', ['stop'], 'stop'],
  ['lets a request on the wire be answered after a stop', ['sent', 'stop', 4_999], undefined],
  ['does so for as long as it is told', ['sent', 'stop', 5_000], 'stop'],
  ['ends a request on the wire at once when it is aborted', ['sent', 'abort'], 'abort'],
  ['forgets both once it has ended', ['sent', 'stop', 'ended', 'abort', 10_000], undefined],
])('the signal of an attempt %s', async (_, steps, why) => {
  const clock = new VirtualClock();
  const controllers = { stop: new AbortController(), abort: new AbortController() };
  const asked = { signal: controllers.abort.signal, stop: controllers.stop.signal };
  const tried = attemptSignal(asked, clock, () => 5_000);
  for (const step of steps) {
    if (typeof step === 'number') await clock.advance(step);
    else if (step === 'stop' || step === 'abort') controllers[step].abort(step);
    else tried[step]();
  }
  expect([tried.signal.aborted, tried.signal.reason]).toEqual([why !== undefined, why]);
});
