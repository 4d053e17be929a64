import { describe, expect, it } from 'vitest';
import { createEventSink } from '../../../../src/db/events/event-sink.ts';
import { createWakeups } from '../../../../src/db/notify/wakeups.ts';
import { COLLECTION_NAMES } from '../../../../src/model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { eventAccounts } from '../../../support/webhooks/event-account.ts';
import { envelope, eventOf } from '../../../support/webhooks/signing.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

const scene = eventAccounts();

describe('the sink', () => {
  it('hints only collections that are mirrored', async () => {
    const sink = createEventSink({
      db: scene.database.db,
      collections: ['lists'],
      clock: new VirtualClock(),
    });
    const list = envelope('evt_1', { type: 'list.failed', data: { list_id: 2 } });
    for (const body of [list, envelope('evt_2')]) await sink.store(scene.account.userId, eventOf(body));
    expect(await scene.account.hints()).toEqual(['lists//2/1']);
    expect(await scene.account.events()).toHaveLength(2);
  });

  it('wakes other processes after the commit, a burst of events by few wake-ups', async () => {
    let wakes = 0;
    const wakeups = createWakeups({
      connection: { url: scene.database.url, program: 'research-mirror wake-ups' },
      schema: 'mirror',
      clock: systemClock,
      log: { info: () => {}, warn: () => {} },
      onWake: () => {
        wakes += 1;
      },
    });
    await wakeups.start();
    await eventually('its first look', () => wakes > 0);
    const clock = new VirtualClock();
    const sink = createEventSink({
      db: scene.database.db,
      collections: COLLECTION_NAMES,
      clock,
    });
    const before = wakes;
    const bodies = Array.from({ length: 30 }, (_, index) => envelope(`evt_${index}`));
    await Promise.all(bodies.map((body) => sink.store(scene.account.userId, eventOf(body))));
    await eventually('a wake-up', () => wakes > before);
    expect(wakes - before).toBe(1);
    await eventually('another for those that came meanwhile', async () => {
      await clock.advance(50);
      return wakes - before === 2;
    });
    await clock.advance(1_000);
    expect(wakes - before).toBe(2);
    await wakeups.stop();
  });
});
