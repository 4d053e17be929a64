import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { attemptSignal } from './attempt.ts';

function attempt() {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const stop = new AbortController();
  const tried = attemptSignal({ signal: abort.signal, stop: stop.signal }, clock, () => 5_000);
  return { clock, abort, stop, tried };
}

describe('the signal of an attempt', () => {
  it('ends a wait for a slot as soon as there is a stop', () => {
    const { stop, tried } = attempt();
    stop.abort(new Error('stop'));
    expect(tried.signal.reason).toEqual(new Error('stop'));
  });

  it('lets a request on the wire be answered after a stop, for as long as it is told', async () => {
    const { clock, stop, tried } = attempt();
    tried.sent();
    stop.abort(new Error('stop'));
    await clock.advance(4_999);
    expect(tried.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(tried.signal.aborted).toBe(true);
  });

  it('ends a request on the wire at once when it is aborted', () => {
    const { abort, tried } = attempt();
    tried.sent();
    abort.abort(new Error('broken'));
    expect(tried.signal.reason).toEqual(new Error('broken'));
  });

  it('forgets both once the attempt has ended', async () => {
    const { clock, abort, stop, tried } = attempt();
    tried.sent();
    stop.abort(new Error('stop'));
    tried.ended();
    abort.abort(new Error('late'));
    await clock.advance(10_000);
    expect(tried.signal.aborted).toBe(false);
  });
});
