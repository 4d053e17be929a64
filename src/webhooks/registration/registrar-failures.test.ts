import { beforeEach, describe, expect, it } from 'vitest';
import { HOUR, MINUTE, RegistrationWorld } from '../../../test/support/webhooks/registration-world.ts';
import { LeaseLost } from '../../model/errors.ts';

/** Minutes between requests, rounded. */
function gaps(world: RegistrationWorld, method = 'GET'): number[] {
  const moments = world.service.log.filter((request) => request.method === method).map(({ at }) => at);
  return moments.slice(1).map((at, index) => Math.round((at - (moments[index] ?? 0)) / MINUTE));
}

async function ringing(world: RegistrationWorld, ms: number): Promise<void> {
  for (let past = 0; past < ms; past += 10_000) {
    world.bell.ring();
    await world.clock.advance(10_000);
  }
}

let world: RegistrationWorld;
beforeEach(() => {
  world = new RegistrationWorld();
});

describe('a registrar that can’t do its work', () => {
  it('tries again a minute later, then later and later, however often the bell rings', async () => {
    world.service.getFaults = Array.from({ length: 7 }, () => 500);
    await ringing(world, HOUR - 5 * MINUTE);
    expect(gaps(world)).toEqual([1, 2, 4, 8, 15, 15]);
    await ringing(world, 10 * MINUTE);
    expect(world.isRegistered()).toBe(true);
    world.kill();
  });

  it('is warned of once in a row, and begins with a minute again when all was well in between', async () => {
    const warnings = (): number =>
      world.warned.filter((line) => line.startsWith('account 1001: webhook: ')).length;
    world.service.getFaults = [500, 500, 500];
    await world.clock.advance(HOUR);
    expect(world.isRegistered()).toBe(true);
    expect(warnings()).toBe(1);
    world.service.log.length = 0;
    world.service.getFaults = [500];
    await world.clock.advance(20 * MINUTE);
    expect(gaps(world)[0]).toBe(1);
    expect(warnings()).toBe(2);
    world.kill();
  });

  it('says so where nothing worse is known, until it could', async () => {
    world.service.getFaults = [500];
    await world.clock.advance(MINUTE / 2);
    expect(world.store.registration.error).toMatch(/can't be seen to: .*answered 500: not now/);
    await world.clock.advance(MINUTE);
    expect(world.store.registration.error).toBeNull();
    // Worse is known: the service refuses it.
    world.service.webhook = undefined;
    world.service.faults = [402];
    await world.clock.advance(20 * MINUTE);
    world.service.getFaults = [500];
    await world.clock.advance(15 * MINUTE);
    expect(world.service.getFaults).toEqual([]);
    expect(world.store.registration.error).toContain('refuses');
    expect(world.warned.filter((line) => line.includes('refuses'))).toHaveLength(1);
    world.kill();
  });

  it('says nothing where no deliveries are wanted', async () => {
    world.kill();
    world.publicUrl = undefined;
    world.start();
    world.service.getFaults = [500, 500];
    await world.clock.advance(2 * MINUTE);
    expect(world.service.getFaults).toEqual([]);
    expect(world.store.registration.error).toBeNull();
    world.kill();
  });

  it('goes on where not even that can be stored, and ends where the account is somebody else’s', async () => {
    for (const failure of [new Error('the database is away'), new LeaseLost('it is another’s')]) {
      const world = new RegistrationWorld();
      world.service.getFaults = [500];
      world.store.failNext = failure;
      await world.clock.advance(2 * MINUTE);
      const lost = failure instanceof LeaseLost;
      expect(world.ended).toBe(lost ? failure : undefined);
      expect(world.isRegistered()).toBe(!lost);
      world.kill();
    }
  });

  it('waits longer after each answer that is lost, and a minute again after one that was not', async () => {
    world.service.faults = ['lost-undone', 'lost-undone', 'lost-undone'];
    await world.clock.advance(HOUR);
    expect(gaps(world, 'POST')).toEqual([1, 2, 4]);
    world.service.log.length = 0;
    world.service.webhook = undefined;
    world.service.faults = ['lost-undone'];
    await world.clock.advance(HOUR);
    expect(gaps(world, 'POST')).toEqual([1]);
    expect(world.isRegistered()).toBe(true);
    world.kill();
  });

  it('shows no secret that it could not store', async () => {
    // A look takes 105 ms, and so does the request after it.
    await world.clock.advance(150);
    expect(world.service.count('POST')).toBe(1);
    world.store.failNext = new Error('the database is away');
    await world.clock.advance(100);
    expect(world.store.registration.secret).toBeNull();
    expect(world.hidden).toEqual(new Set(['secret-1']));
    world.kill();
  });

  it('has not failed where it was stopped', async () => {
    await world.clock.advance(2);
    world.stop();
    await world.clock.advance(MINUTE);
    expect(world.service.log).toEqual([]);
    expect(world.warned).toEqual([]);
    expect(world.store.registration.error).toBeNull();
  });
});

describe('a request that waits for its slot', () => {
  it('is not made where the database was restored or copied meanwhile', async () => {
    // A look takes 105 ms; the slot is there 5 ms after it.
    await world.clock.advance(107);
    world.store.onHold = true;
    await world.clock.advance(MINUTE);
    expect(world.service.count('POST')).toBe(0);
    world.kill();
  });
});
