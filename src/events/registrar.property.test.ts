import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  HOUR,
  MINUTE,
  OURS,
  RegistrationWorld,
  type RegisterFault,
  type Takeover,
  THEIRS,
  type WebhookManners,
} from '../../test/support/webhooks/registration-world.ts';
import { runs } from '../../test/support/effort.ts';

const manners: fc.Arbitrary<WebhookManners> = fc.record({
  spell: fc.constantFrom<WebhookManners['spell'][]>(
    (url) => url,
    (url) => `${url}/`,
    (url) => url.replace('mirror.example.com', 'MIRROR.example.com:443'),
    // A spelling that nobody expects: known by the registration's answer alone.
    (url) => `${url}?via=hooks`,
  ),
  lateMs: fc.constantFrom(0, 0, 1_000, 60_000),
});

/** What takes effect late can't be seen in time. */
const prompt = manners.map((each) => ({ ...each, lateMs: 0 }));

const fault = fc.constantFrom<RegisterFault[]>(
  ...(['none', 'lost-done', 'lost-undone', 'not-sent', 'no-secret', 'garbage'] as const),
  ...([400, 402, 404, 405, 429, 500] as const),
);

const HAPPENINGS = {
  intrude: ({ service }) => service.intrude(THEIRS),
  rotate: ({ service }) => service.rotate(),
  'second deployment': ({ service }) => service.intrude(OURS),
  remove: ({ service }) => (service.webhook = undefined),
  'switch off': ({ service: { webhook } }) => webhook !== undefined && (webhook.active = false),
  kill: async (world) => {
    world.kill();
    await world.clock.advance(1_000);
    world.start();
  },
  hold: async ({ store, clock }) => {
    store.onHold = true;
    await clock.advance(20 * MINUTE);
    store.onHold = false;
  },
  database: ({ store }) => (store.failNext = new Error('the database is away')),
} satisfies Record<string, (world: RegistrationWorld) => unknown>;

const event = fc.oneof(
  fc.constantFrom(...(Object.keys(HAPPENINGS) as (keyof typeof HAPPENINGS)[])),
  fc.record({ faults: fc.array(fault, { minLength: 1, maxLength: 4 }) }),
  fc.record({ getFaults: fc.array(fc.constantFrom(500, 405, 400), { minLength: 1, maxLength: 3 }) }),
);

type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;
/** @param longest seconds that follow each of them, at most */
const events = (longest: number, lengths: fc.ArrayConstraints) =>
  fc.array(fc.tuple(event, fc.integer({ min: 10, max: longest })), lengths);

/** What happens, each followed by so many seconds; then the service is well. */
async function happen(world: RegistrationWorld, events: [Event, number][]): Promise<void> {
  for (const [each, seconds] of events) {
    if (typeof each === 'string') await HAPPENINGS[each](world);
    else Object.assign(world.service, structuredClone(each));
    await world.clock.advance(seconds * 1_000);
  }
  Object.assign(world.service, { faults: [], getFaults: [] });
}

it('a webhook is registered once in a quiet world, with any spelling of the service', async () => {
  await fc.assert(
    fc.asyncProperty(manners, fc.constantFrom<Takeover[]>('if-empty', 'always'), async (each, takeover) => {
      const world = new RegistrationWorld(each, takeover);
      await world.clock.advance(6 * HOUR);
      world.kill();
      expect(world.isRegistered()).toBe(true);
      expect(world.service.count('POST')).toBe(1);
      expect(world.service.count('GET')).toBeLessThanOrEqual(7);
      expect(world.broken).toEqual([]);
    }),
    { numRuns: runs(8, 40) },
  );
});

it('a webhook ends registered with the right secret after any events, and no rule is broken on the way', async () => {
  await fc.assert(
    fc.asyncProperty(manners, events(2 * 60 * 60, { maxLength: 8 }), async (each, events) => {
      const world = new RegistrationWorld(each, 'always');
      await happen(world, events);
      const before = world.service.count('POST');
      // The longest bound: a refusal, or mismatches, are followed by another request after an hour.
      await world.clock.advance(HOUR + 30 * MINUTE);
      if (world.store.registration.state === 'stopped') {
        // Then somebody has to look into it and to restart.
        await world.clock.advance(HOUR);
        world.kill();
        world.start();
        await world.clock.advance(HOUR + 30 * MINUTE);
      }
      world.kill();
      expect(world.ended).toBeUndefined();
      expect(world.broken).toEqual([]);
      expect(world.store.registration).toMatchObject({ state: 'registered', error: null });
      expect(world.isRegistered()).toBe(true);
      expect(world.service.count('POST') - before).toBeLessThanOrEqual(4);
      expect(world.store.row).toMatchObject({ url: each.spell(OURS) });
      expect(JSON.stringify(world.store.row)).not.toMatch(/secret-\d/);
    }),
    { numRuns: runs(12, 60) },
  );
});

it('a registration never replaces another program’s webhook unless configured', async () => {
  await fc.assert(
    fc.asyncProperty(
      prompt,
      fc.constantFrom<Takeover[]>('never', 'if-empty'),
      events(60 * 60, { minLength: 1, maxLength: 6 }),
      async (each, takeover, events) => {
        const world = new RegistrationWorld(each, takeover);
        await happen(world, events);
        world.service.intrude(THEIRS);
        await world.clock.advance(3 * HOUR);
        world.kill();
        expect(world.service.webhook?.url).toBe(THEIRS);
        expect(world.store.registration.state).toBe('foreign');
        expect(world.store.registration.error).toContain('other.example.com,');
        expect(world.broken).toEqual([]);
      },
    ),
    { numRuns: runs(8, 40) },
  );
});

it('a removed webhook is registered again within eight minutes if something changes each minute', async () => {
  await fc.assert(
    fc.asyncProperty(prompt, fc.integer({ min: 5 * 60, max: 2 * 60 * 60 }), async (each, seconds) => {
      const world = new RegistrationWorld(each);
      await world.clock.advance(seconds * 1_000);
      world.service.webhook = undefined;
      await world.clock.advance(8 * MINUTE);
      world.kill();
      expect(world.isRegistered()).toBe(true);
      expect(world.service.count('POST')).toBe(2);
      expect(world.warned).toEqual([
        'account 1001: our webhook was removed or changed at the service: it is registered again',
      ]);
      expect(world.broken).toEqual([]);
    }),
    { numRuns: runs(10, 60) },
  );
});
