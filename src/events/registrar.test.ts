import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  HOUR,
  MINUTE,
  OURS,
  RegistrationWorld,
  THEIRS,
} from '../../test/support/webhooks/registration-world.ts';
import { KeyRefused, LeaseLost } from '../model/errors.ts';

let world: RegistrationWorld;
beforeEach(() => {
  world = new RegistrationWorld();
});
afterEach(() => world.kill());

/** Minutes between requests, rounded. */
function gaps(method = 'GET'): number[] {
  const moments = world.service.log.filter((request) => request.method === method).map(({ at }) => at);
  return moments.slice(1).map((at, index) => Math.round((at - (moments[index] ?? 0)) / MINUTE));
}

describe('the registrar', () => {
  it('registers for all events, and shows the secret nowhere', async () => {
    await world.clock.advance(MINUTE);
    expect(world.isRegistered()).toBe(true);
    const post = world.service.log.find(({ method }) => method === 'POST');
    expect(JSON.parse(post?.body ?? '')).toEqual({ url: OURS, event_types: null });
    expect(world.hidden).toEqual(new Set(['secret-1']));
    // The mirrored row is true before the next look.
    expect(world.service.count('GET')).toBe(1);
    expect(world.store.row).toMatchObject({ url: OURS });
    expect(world.said.at(-1)).toContain('mirror.example.com');
    expect(world.said.join()).not.toContain('secret-1');
  });

  it('keeps the secret of a registration that is answered while it stops', async () => {
    await world.clock.advance(120);
    world.stop();
    await world.clock.advance(MINUTE);
    expect(world.isRegistered()).toBe(true);
    expect(world.service.log).toHaveLength(2);
  });

  it('leaves the webhook unchanged when no public URL is set any more, and shows it', async () => {
    await world.clock.advance(MINUTE);
    world.kill();
    world.publicUrl = undefined;
    world.start();
    await world.clock.advance(MINUTE);
    expect(world.store).toMatchObject({ row: { url: OURS }, registration: { state: 'none', error: null } });
    world.service.intrude(THEIRS);
    await world.clock.advance(HOUR);
    world.kill();
    expect(new Set(world.service.log.slice(2).map(({ method }) => method))).toEqual(new Set(['GET']));
    expect(world.store.row).toMatchObject({ url: THEIRS });
  });

  it('reports at once that deliveries go astray, until they do not or one comes', async () => {
    world.kill();
    world.astray = 'the proxy leads nowhere; mend it';
    world.delivering = false;
    world.start();
    await world.clock.advance(1_000);
    const told = 'it is registered, but its deliveries do not get here: the proxy leads nowhere; mend it';
    expect(world.isRegistered()).toBe(true);
    expect(world.store.registration.error).toContain(told);
    await world.clock.advance(HOUR);
    expect(world.store.registration.error).toContain(told);
    expect(world.warned).toHaveLength(1);
    // The service has another way than this machine.
    world.delivering = true;
    await world.clock.advance(2 * MINUTE);
    expect(world.store.registration.error).toBeNull();
    world.astray = undefined;
    await world.clock.advance(16 * MINUTE);
    // Deliveries came, and come no more.
    world.astray = 'the proxy is gone';
    world.delivering = false;
    await world.clock.advance(8 * MINUTE);
    expect(world.store.registration.error).toContain('the proxy is gone');
    world.delivering = true;
    await world.clock.advance(2 * MINUTE);
    expect(world.store.registration.error).toBeNull();
    world.kill();
    expect(world.broken).toEqual([]);
  });

  it('ends after one request if no key is good', async () => {
    world.service.faults = [403];
    world.keyIsGood = false;
    await world.clock.advance(10 * MINUTE);
    expect(world.ended).toBeInstanceOf(KeyRefused);
    expect(world.store.registration).toMatchObject({ state: 'registering', secret: null });
    expect(world.service.count('POST')).toBe(1);
  });

  it('reports each new registration once, and none that it finds', async () => {
    await world.clock.advance(HOUR);
    expect(world.renewals).toBe(1);
    expect(world.said.filter((line) => line.includes('events come to'))).toEqual([
      '"account 1001: events come to mirror.example.com"',
    ]);
    world.service.webhook = undefined;
    await world.clock.advance(HOUR);
    expect(world.renewals).toBe(2);
    world.kill();
    world.hidden.clear();
    world.start();
    await world.clock.advance(HOUR);
    world.kill();
    expect(world.service.count('POST')).toBe(2);
    expect(world.renewals).toBe(2);
    expect(world.hidden).toEqual(new Set(['secret-2']));
  });

  it('reports that nothing arrives though it is registered, until something does', async () => {
    await world.clock.advance(HOUR);
    world.delivering = false;
    await world.clock.advance(10 * MINUTE);
    expect(world.store.registration).toMatchObject({ state: 'registered' });
    expect(world.store.registration.error).toMatch(
      /^it is registered, but no event arrives: \d+ changes were found by polls alone\. "research-mirror doctor"/,
    );
    const looks = world.service.count('GET');
    await world.clock.advance(HOUR);
    // Every few minutes, since there is new evidence.
    expect(world.service.count('GET') - looks).toBeLessThanOrEqual(20);
    expect(world.service.count('POST')).toBe(1);
    world.delivering = true;
    await world.clock.advance(5 * MINUTE);
    expect(world.store.registration.error).toBeNull();
  });
});

describe('a registrar that can’t do its work', () => {
  it('tries again each minute until it can', async () => {
    world.service.getFaults = Array.from({ length: 7 }, () => 500);
    await world.clock.advance(8 * MINUTE);
    expect(gaps()).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect(world.isRegistered()).toBe(true);
  });

  it('warns once in a row, and again if all was well in between', async () => {
    const warnings = (): number =>
      world.warned.filter((line) => line.startsWith("account 1001: the webhook can't be seen to: ")).length;
    world.service.getFaults = [500, 500, 500];
    await world.clock.advance(HOUR);
    expect(world.isRegistered()).toBe(true);
    expect(warnings()).toBe(1);
    world.service.log.length = 0;
    world.service.getFaults = [500];
    await world.clock.advance(HOUR);
    expect(gaps()[0]).toBe(1);
    expect(warnings()).toBe(2);
  });

  it('stores its failure unless something worse is stored, until it succeeds', async () => {
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
  });

  it('stores no failure if no deliveries are wanted', async () => {
    world.kill();
    world.publicUrl = undefined;
    world.start();
    world.service.getFaults = [500, 500];
    await world.clock.advance(2 * MINUTE);
    expect(world.service.getFaults).toEqual([]);
    expect(world.store.registration.error).toBeNull();
  });

  it('continues if the failure can not be stored, and ends if another process owns the account', async () => {
    for (const failure of [new Error('the database is away'), new LeaseLost('it is another’s')]) {
      world = new RegistrationWorld();
      world.service.getFaults = [500];
      world.store.failNext = failure;
      await world.clock.advance(2 * MINUTE);
      const lost = failure instanceof LeaseLost;
      expect(world.ended).toBe(lost ? failure : undefined);
      expect(world.isRegistered()).toBe(!lost);
      world.kill();
    }
  });

  it('waits two minutes after an answer that is lost', async () => {
    world.service.faults = ['lost-undone', 'garbage', 'lost-done'];
    await world.clock.advance(HOUR);
    expect(gaps('POST')).toEqual([2, 2, 2]);
    expect(world.isRegistered()).toBe(true);
    expect(world.broken).toEqual([]);
  });

  it('shows no secret that it could not store', async () => {
    // A look takes 105 ms, and so does the request after it.
    await world.clock.advance(150);
    expect(world.service.count('POST')).toBe(1);
    world.store.failNext = new Error('the database is away');
    await world.clock.advance(100);
    expect(world.store.registration.secret).toBeNull();
    expect(world.hidden).toEqual(new Set(['secret-1']));
  });

  it('reports no failure when it is stopped', async () => {
    await world.clock.advance(2);
    world.stop();
    await world.clock.advance(MINUTE);
    expect(world.service.log).toEqual([]);
    expect(world.warned).toEqual([]);
    expect(world.store.registration.error).toBeNull();
  });
});

it('a request that waits for its slot is not sent if the database was restored or copied meanwhile', async () => {
  // A look takes 105 ms; the slot is there 5 ms after it.
  await world.clock.advance(107);
  world.store.onHold = true;
  await world.clock.advance(MINUTE);
  expect(world.service.count('POST')).toBe(0);
});

// What anybody who finds the listener can bring the registration to, by sending deliveries that nothing explains.

/** Forgeries all the time. */
async function flood(hours: number): Promise<void> {
  for (let minute = 0; minute < hours * 60; minute += 1) {
    for (let each = 0; each < 3; each += 1) world.store.deliver('forged');
    await world.clock.advance(MINUTE);
  }
}

describe('a sender without the secret', () => {
  beforeEach(async () => {
    await world.clock.advance(HOUR);
    expect(world.isRegistered()).toBe(true);
  });

  it('causes nothing while the service’s own deliveries come', async () => {
    await flood(30);
    expect(world.isRegistered()).toBe(true);
    expect(world.service.count('POST')).toBe(1);
  });

  it('causes nothing if nothing changes', async () => {
    world.changing = false;
    await flood(30);
    expect(world.isRegistered()).toBe(true);
    expect(world.service.count('POST')).toBe(1);
    expect(world.service.count('GET')).toBeLessThanOrEqual(32);
  });

  it('causes one registration an hour if the service announces no changes', async () => {
    world.delivering = false;
    await flood(10);
    expect(world.service.count('POST')).toBeGreaterThan(1);
    expect(world.service.count('POST')).toBeLessThanOrEqual(11);
    expect(world.broken).toEqual([]);
    world.delivering = true;
    await world.clock.advance(HOUR);
    expect(world.isRegistered()).toBe(true);
  });

  it.each([false, true])('hides a new secret for half an hour at most; flooding: %s', async (flooded) => {
    world.service.rotate();
    await (flooded ? flood(0.5) : world.clock.advance(HOUR / 2));
    expect(world.isRegistered()).toBe(true);
    expect(world.service.count('POST')).toBe(2);
    expect(world.warned).toEqual([expect.stringContaining('no known secret explains the deliveries')]);
  });
});
