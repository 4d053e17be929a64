import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOUR, MINUTE, RegistrationWorld } from '../../../test/support/webhooks/registration-world.ts';

// What anybody who finds the listener can bring the registration to, by sending deliveries that nothing explains.

let world: RegistrationWorld;
beforeEach(async () => {
  world = new RegistrationWorld();
  await world.clock.advance(HOUR);
  expect(world.isRegistered()).toBe(true);
});
afterEach(() => world.kill());

/** Forgeries all the time, which come to the registrar at once. */
async function flood(hours: number): Promise<void> {
  for (let minute = 0; minute < hours * 60; minute += 1) {
    for (let each = 0; each < 3; each += 1) world.store.deliver('forged');
    world.bell.ring();
    await world.clock.advance(MINUTE);
  }
}

function readings(): number {
  return world.said.filter((line) => line.includes('"mistrusted":true')).length;
}

describe('a sender without the secret', () => {
  it('brings about nothing while the service’s own deliveries come', async () => {
    await flood(30);
    expect(world.isRegistered()).toBe(true);
    expect(world.service.count('POST')).toBe(1);
    expect(readings()).toBe(0);
  });

  it('brings about a reading an hour where nothing changes, and no registration', async () => {
    world.changing = false;
    await flood(30);
    expect(world.isRegistered()).toBe(true);
    expect(world.service.count('POST')).toBe(1);
    expect(readings()).toBeGreaterThan(1);
    expect(readings()).toBeLessThanOrEqual(31);
  });

  it('brings about one registration an hour where the service announces nothing of what changes', async () => {
    world.delivering = false;
    await flood(10);
    expect(world.service.count('POST')).toBeGreaterThan(1);
    expect(world.service.count('POST')).toBeLessThanOrEqual(11);
    expect(world.broken).toEqual([]);
    world.delivering = true;
    await world.clock.advance(HOUR);
    expect(world.isRegistered()).toBe(true);
  });
});

describe('a secret that was replaced at the service', () => {
  it.each([false, true])(
    'is found out within half an hour, beside a flood of forgeries: %s',
    async (flooded) => {
      world.service.rotate();
      await (flooded ? flood(0.5) : world.clock.advance(HOUR / 2));
      expect(world.isRegistered()).toBe(true);
      expect(world.service.count('POST')).toBe(2);
    },
  );
});
