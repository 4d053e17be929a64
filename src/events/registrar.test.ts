import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOUR, MINUTE, OURS, RegistrationWorld, THEIRS } from '../../test/support/webhooks/registration-world.ts';
import { KeyRefused, LeaseLost } from '../model/errors.ts';

let world: RegistrationWorld;
beforeEach(() => {
  world = new RegistrationWorld();
});
afterEach(() => world.kill());

/** Another process takes the account, in a world that is as the changes say. */
function restart(changes: Partial<Pick<RegistrationWorld, 'publicUrl' | 'astray' | 'delivering'>> = {}): void {
  world.kill();
  Object.assign(world, changes);
  world.start();
}
const warnings = (part: string) => world.warned.filter((line) => line.includes(part)).length;
const stored = () => world.store.registration;

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
    restart({ publicUrl: undefined });
    await world.clock.advance(MINUTE);
    expect(world.store).toMatchObject({ row: { url: OURS }, registration: { state: 'none', error: null } });
    world.service.intrude(THEIRS);
    await world.clock.advance(HOUR);
    expect(new Set(world.service.log.slice(2).map(({ method }) => method))).toEqual(new Set(['GET']));
    expect(world.store.row).toMatchObject({ url: THEIRS });
  });

  it('reports at once that deliveries go astray, until they do not or one comes', async () => {
    restart({ astray: 'the proxy leads nowhere; mend it', delivering: false });
    await world.clock.advance(1_000);
    const told = 'it is registered, but its deliveries do not get here: the proxy leads nowhere; mend it';
    expect(world.isRegistered()).toBe(true);
    expect(stored().error).toContain(told);
    await world.clock.advance(HOUR);
    expect(stored().error).toContain(told);
    expect(world.warned).toHaveLength(1);
    // The service has another way than this machine.
    world.delivering = true;
    await world.clock.advance(2 * MINUTE);
    expect(stored().error).toBeNull();
    world.astray = undefined;
    await world.clock.advance(16 * MINUTE);
    // Deliveries came, and come no more.
    Object.assign(world, { astray: 'the proxy is gone', delivering: false });
    await world.clock.advance(8 * MINUTE);
    expect(stored().error).toContain('the proxy is gone');
    world.delivering = true;
    await world.clock.advance(2 * MINUTE);
    expect(stored().error).toBeNull();
    expect(world.broken).toEqual([]);
  });

  it('ends after one request if no key is good', async () => {
    world.service.faults = [403];
    world.keyIsGood = false;
    await world.clock.advance(10 * MINUTE);
    expect(world.ended).toBeInstanceOf(KeyRefused);
    expect(stored()).toMatchObject({ state: 'registering', secret: null });
    expect(world.service.count('POST')).toBe(1);
  });

  it('reports each new registration once, and none that it finds', async () => {
    await world.clock.advance(HOUR);
    expect(world.renewals).toBe(1);
    expect(world.said.filter((line) => line.includes('events arrive at'))).toEqual([
      '"account 1001: events arrive at mirror.example.com"',
    ]);
    world.service.webhook = undefined;
    await world.clock.advance(HOUR);
    expect(world.renewals).toBe(2);
    world.hidden.clear();
    restart();
    await world.clock.advance(HOUR);
    expect(world.service.count('POST')).toBe(2);
    expect(world.renewals).toBe(2);
    expect(world.hidden).toEqual(new Set(['secret-2']));
  });

  it('reports that nothing arrives though it is registered, until something does', async () => {
    await world.clock.advance(HOUR);
    world.delivering = false;
    await world.clock.advance(10 * MINUTE);
    expect(stored()).toMatchObject({ state: 'registered' });
    expect(stored().error).toMatch(
      /^it is registered, but no event arrives: \d+ changes were found by polls alone\. "research-mirror doctor"/,
    );
    const looks = world.service.count('GET');
    await world.clock.advance(HOUR);
    // Every few minutes, since there is new evidence.
    expect(world.service.count('GET') - looks).toBeLessThanOrEqual(20);
    expect(world.service.count('POST')).toBe(1);
    world.delivering = true;
    await world.clock.advance(5 * MINUTE);
    expect(stored().error).toBeNull();
  });

  it('sends no request that waited for its slot while the database was restored or copied', async () => {
    // A look takes 105 ms; the slot is there 5 ms after it.
    await world.clock.advance(107);
    world.store.onHold = true;
    await world.clock.advance(MINUTE);
    expect(world.service.count('POST')).toBe(0);
  });
});

describe('a registrar that can’t do its work', () => {
  it('tries again each minute until it can, and warns once in a row', async () => {
    world.service.getFaults = Array.from({ length: 7 }, () => 500);
    await world.clock.advance(8 * MINUTE);
    expect(world.service.log.map(({ at }) => Math.round(at / MINUTE))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 7]);
    expect(world.isRegistered()).toBe(true);
    expect(warnings("account 1001: the webhook can't be checked: ")).toBe(1);
    await world.clock.advance(MINUTE);
    world.service.getFaults = [500];
    await world.clock.advance(HOUR);
    expect(warnings("account 1001: the webhook can't be checked: ")).toBe(2);
  });

  it('stores its failure unless something worse is stored, until it succeeds', async () => {
    world.service.getFaults = [500];
    await world.clock.advance(MINUTE / 2);
    expect(stored().error).toMatch(/can't be checked: .*returned 500: not now/);
    await world.clock.advance(MINUTE);
    expect(stored().error).toBeNull();
    // Worse is known: the service refuses it.
    Object.assign(world.service, { webhook: undefined, faults: [402] });
    await world.clock.advance(20 * MINUTE);
    world.service.getFaults = [500];
    await world.clock.advance(15 * MINUTE);
    expect(world.service.getFaults).toEqual([]);
    expect(stored().error).toContain('refuses');
    expect(warnings('refuses')).toBe(1);
  });

  it('stores no failure if no deliveries are wanted', async () => {
    restart({ publicUrl: undefined });
    world.service.getFaults = [500, 500];
    await world.clock.advance(2 * MINUTE);
    expect(world.service.getFaults).toEqual([]);
    expect(stored().error).toBeNull();
  });

  it.each([
    ['continues', new Error('the database is away'), undefined],
    ['ends', new LeaseLost('it is another’s'), LeaseLost],
  ])('%s if its failure can not be stored: %s', async (_, failure, ended) => {
    world.service.getFaults = [500];
    world.store.failNext = failure;
    await world.clock.advance(2 * MINUTE);
    expect(world.ended).toBe(ended && failure);
    expect(world.isRegistered()).toBe(ended === undefined);
  });

  it('shows no secret that it could not store', async () => {
    // A look takes 105 ms, and so does the request after it.
    await world.clock.advance(150);
    expect(world.service.count('POST')).toBe(1);
    world.store.failNext = new Error('the database is away');
    await world.clock.advance(100);
    expect(stored().secret).toBeNull();
    expect(world.hidden).toEqual(new Set(['secret-1']));
  });

  it('reports no failure when it is stopped', async () => {
    await world.clock.advance(2);
    world.stop();
    await world.clock.advance(MINUTE);
    expect([world.service.log, world.warned, stored().error]).toEqual([[], [], null]);
  });
});

it.each([false, true])(
  'a new secret is unknown for half an hour at most; forgeries all the time: %s',
  async (flooded) => {
    await world.clock.advance(HOUR);
    expect(world.isRegistered()).toBe(true);
    world.service.rotate();
    for (let minute = 0; minute < 30; minute += 1) {
      if (flooded) for (let each = 0; each < 3; each += 1) world.store.deliver('forged');
      await world.clock.advance(MINUTE);
    }
    expect(world.isRegistered()).toBe(true);
    expect(world.service.count('POST')).toBe(2);
    expect(world.warned).toEqual([expect.stringContaining('no known secret explains the deliveries')]);
  },
);
