import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createFleet, type TestFleet } from '../../support/fleet/test-fleet.ts';

let fleet: TestFleet;
afterEach(() => fleet.close());

describe('daemons with the same keys', () => {
  it('share accounts out evenly when one joins, is killed and is stopped, and no change is missed', async () => {
    fleet = await createFleet(12);
    await fleet.start();
    await fleet.shares([12]);
    await fleet.start();
    await fleet.shares([6, 6]);
    const third = await fleet.start();
    await fleet.shares([4, 4, 4]);
    await fleet.mirrorsAll();

    await third.stop('SIGKILL');
    await fleet.shares([6, 6]);
    await fleet.change();
    await fleet.mirrorsAll();

    const [first] = fleet.daemons;
    expect(await first?.stop()).toMatchObject({ code: 0 });
    await fleet.shares([12]);
    await fleet.change();
    await fleet.mirrorsAll();
    expect((await fleet.system.sandbox.control.counters()).maxInFlightPerScope).toBe(1);
  });
});

describe('a rolling restart', () => {
  it('hands accounts over before a daemon ends, and sends nothing too often', async () => {
    fleet = await createFleet(8, { limits: 'on', limitOther: 60, latencyMin: 20, latencyMax: 200 });
    for (let started = 0; started < 3; started += 1) await fleet.start();
    await eventually('even shares', async () => (await fleet.counts()).join() === '2,3,3');
    const watch = fleet.watch();
    for (let round = 0; round < 3; round += 1) {
      const [oldest, ...others] = fleet.daemons;
      const before = await fleet.ownedBy(oldest);
      const stopped = oldest?.stop();
      await eventually('the others to have all', async () => {
        const theirs = await Promise.all(others.map((each) => fleet.ownedBy(each)));
        return before.every((userId) => theirs.flat().includes(userId));
      });
      expect(await stopped).toMatchObject({ code: 0, signal: null });
      await fleet.start();
      await eventually('even shares', async () => (await fleet.counts()).join() === '2,3,3');
    }
    // Each was given up before its owner ended: none had to be waited for until a heartbeat ran out.
    expect(watch.gaps.filter(({ afterKill }) => afterKill)).toEqual([]);
    const { maxInFlightPerScope, rateLimited } = await fleet.system.sandbox.control.counters();
    expect({ maxInFlightPerScope, rateLimited }).toEqual({ maxInFlightPerScope: 1, rateLimited: 0 });
  });
});
