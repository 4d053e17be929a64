import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { BackInQueue, SubmissionLane } from './submission-lane.ts';

function laneOf(size: number): { readonly lane: SubmissionLane; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  return { lane: new SubmissionLane(clock, () => size), clock };
}

describe('a group of submissions', () => {
  it('has as many under way as its limit allows, 32 at most', () => {
    const { lane } = laneOf(2);
    lane.add('1');
    expect(lane.hasRoom).toBe(true);
    lane.add('2');
    expect(lane.hasRoom).toBe(false);
    lane.ended('1');
    expect(lane.hasRoom).toBe(true);
    expect(laneOf(500).lane.width).toBe(32);
  });

  it('lets one alone try while nothing can be sent, later and later, until the service answers', async () => {
    const { lane, clock } = laneOf(10);
    expect([lane.width, lane.waitMs]).toEqual([10, 1_000]);
    lane.failed(lane.waitMs);
    expect([lane.width, lane.waitMs, lane.hasRoom]).toEqual([1, 2_000, false]);
    await clock.advance(1_000);
    expect(lane.hasRoom).toBe(true);
    lane.failed(lane.waitMs);
    expect([lane.width, lane.waitMs, lane.heldForMs]).toEqual([1, 4_000, 2_000]);
    lane.answered();
    expect([lane.width, lane.waitMs]).toEqual([10, 1_000]);
  });

  it('counts several failures at once as one', () => {
    const { lane } = laneOf(10);
    for (let i = 0; i < 4; i++) lane.failed(1_000);
    expect(lane.waitMs).toBe(2_000);
  });

  it('waits a minute at most', async () => {
    const { lane, clock } = laneOf(10);
    for (let i = 0; i < 20; i++) {
      lane.failed(lane.waitMs);
      await clock.advance(60_000);
    }
    expect(lane.waitMs).toBe(60_000);
  });

  it('is held for the longest that was asked for', async () => {
    const { lane, clock } = laneOf(10);
    lane.hold(5_000);
    lane.hold(1_000);
    expect(lane.heldForMs).toBe(5_000);
    await clock.advance(6_000);
    expect(lane.heldForMs).toBe(0);
  });

  it('sends what waits for a slot back into the queue when it is held, but not what is claimed', () => {
    const { lane } = laneOf(10);
    const [waits, claimed] = [lane.add('1'), lane.add('2')];
    lane.claimed('2');
    lane.hold(1_000);
    expect(waits.reason).toBeInstanceOf(BackInQueue);
    expect(claimed.aborted).toBe(false);
    expect([lane.has('1'), lane.has('2'), lane.has('3')]).toEqual([true, true, false]);
  });
});
