import { beforeEach, describe, expect, it } from 'vitest';
import {
  HOUR,
  MINUTE,
  OURS,
  RegistrationWorld,
  THEIRS,
} from '../../../test/support/webhooks/registration-world.ts';
import { KeyRefused } from '../../model/errors.ts';

let world: RegistrationWorld;
beforeEach(() => {
  world = new RegistrationWorld();
});

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
    world.kill();
  });

  it('keeps the secret of a registration that is answered while it stops', async () => {
    await world.clock.advance(120);
    world.stop();
    await world.clock.advance(MINUTE);
    expect(world.isRegistered()).toBe(true);
    expect(world.service.log).toHaveLength(2);
  });

  it('removes what is ours, and nothing else, when no public URL is set any more', async () => {
    await world.clock.advance(MINUTE);
    world.kill();
    world.publicUrl = undefined;
    world.start();
    await world.clock.advance(MINUTE);
    expect(world.service.webhook).toBeUndefined();
    expect(world.service.log.slice(-2).map(({ method }) => method)).toEqual(['GET', 'DELETE']);
    expect(world.store).toMatchObject({ row: 'none', registration: { state: 'none', error: null } });
    world.service.intrude(THEIRS);
    await world.clock.advance(HOUR);
    world.kill();
    expect(world.service.count('DELETE')).toBe(1);
    expect(world.store.row).toMatchObject({ url: THEIRS });
  });

  it('says at once that deliveries go astray, until they do not, or until one comes', async () => {
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
    // It did lead here, and deliveries came: it is broken now.
    world.astray = 'the proxy is gone';
    await world.clock.advance(16 * MINUTE);
    expect(world.store.registration.error).toContain('the proxy is gone');
    world.astray = undefined;
    await world.clock.advance(2 * MINUTE);
    expect(world.store.registration.error).toBeNull();
    world.kill();
    expect(world.broken).toEqual([]);
  });

  it('ends where no key is good, with what was registered before it', async () => {
    world.service.faults = [403];
    world.keyIsGood = false;
    await world.clock.advance(10 * MINUTE);
    expect(world.ended).toBeInstanceOf(KeyRefused);
    expect(world.store.registration).toMatchObject({ state: 'none', registeringAt: null });
    expect(world.service.count('POST')).toBe(1);
  });

  it('says once of each registration that it is new, and of one that it finds that it is not', async () => {
    const renewals = (): number => world.said.filter((line) => line.includes('"renewed":true')).length;
    await world.clock.advance(HOUR);
    expect(renewals()).toBe(1);
    expect(world.said.filter((line) => line.includes('events come to'))).toEqual([
      '"account 1001: events come to mirror.example.com"',
    ]);
    world.service.webhook = undefined;
    await world.clock.advance(HOUR);
    expect(renewals()).toBe(2);
    world.kill();
    world.hidden.clear();
    world.start();
    await world.clock.advance(HOUR);
    world.kill();
    expect(world.service.count('POST')).toBe(2);
    expect(renewals()).toBe(2);
    expect(world.said.at(-1)).toContain('"renewed":false');
    expect(world.hidden).toEqual(new Set(['secret-2']));
  });

  it('says that nothing arrives where it is still registered, until something does', async () => {
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
    world.kill();
    expect(world.store.registration.error).toBeNull();
  });
});
