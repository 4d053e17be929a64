import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RegisterFault, WebhookManners } from '../../../test/support/webhooks/emulated-webhooks.ts';
import {
  HOUR,
  MINUTE,
  OURS,
  RegistrationWorld,
  type Takeover,
  THEIRS,
} from '../../../test/support/webhooks/registration-world.ts';
import { runs } from '../../../test/support/effort.ts';

const ALL_TYPES = [
  'watchlist.change_detected',
  'research.completed',
  'research.failed',
  'list.failed',
  'list.analyzed',
  'bulk.failed',
  'bulk.completed',
  'something.new',
];

const NONE = [
  { status: 200, text: 'null' },
  { status: 200, text: '{}' },
  { status: 404, text: '{"message":"none"}' },
  { status: 204, text: '' },
  { status: 200, text: '{"object":"list","data":[],"has_more":false}' },
];

const manners: fc.Arbitrary<WebhookManners> = fc.record({
  none: fc.constantFrom(...NONE),
  spell: fc.constantFrom<WebhookManners['spell'][]>(
    (url) => url,
    (url) => `${url}/`,
    (url) => url.replace('mirror.example.com', 'MIRROR.example.com:443'),
    // A spelling that nobody expects: known by the registration's answer alone.
    (url) => `${url}?via=hooks`,
  ),
  types: fc.constantFrom<WebhookManners['types'][]>(null, ALL_TYPES, ALL_TYPES.toReversed(), [], ['*']),
  lateMs: fc.constantFrom(0, 0, 1_000, 60_000),
});

const fault = fc.constantFrom<RegisterFault[]>(
  'none',
  'lost-done',
  'lost-undone',
  'not-sent',
  'no-secret',
  'garbage',
  400,
  402,
  404,
  405,
  429,
  500,
);

type Event =
  | { readonly what: 'intrude' | 'rotate' | 'remove' | 'switch-off' | 'kill' | 'hold' | 'database' }
  | { readonly what: 'faults'; readonly faults: readonly RegisterFault[] }
  | { readonly what: 'get-faults'; readonly statuses: readonly number[] };

const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    what: fc.constantFrom('intrude', 'rotate', 'remove', 'switch-off', 'kill', 'hold', 'database'),
  }),
  fc.record({ what: fc.constant('faults'), faults: fc.array(fault, { minLength: 1, maxLength: 4 }) }),
  fc.record({
    what: fc.constant('get-faults'),
    statuses: fc.array(fc.constantFrom(500, 405, 400), { minLength: 1, maxLength: 3 }),
  }),
);

async function happen(world: RegistrationWorld, { ...event }: Event): Promise<void> {
  const { service, store, clock } = world;
  switch (event.what) {
    case 'intrude':
      service.intrude(THEIRS);
      break;
    case 'rotate':
      service.rotate();
      break;
    case 'remove':
      service.webhook = undefined;
      break;
    case 'switch-off':
      if (service.webhook !== undefined) service.webhook.active = false;
      break;
    case 'kill':
      world.kill();
      await clock.advance(1_000);
      world.start();
      break;
    case 'hold':
      store.onHold = true;
      await clock.advance(20 * MINUTE);
      store.onHold = false;
      break;
    case 'database':
      store.failNext = new Error('the database is away');
      break;
    case 'faults':
      service.faults = [...event.faults];
      break;
    case 'get-faults':
      service.getFaults = [...event.statuses];
      break;
  }
}

describe('the registration of a webhook', () => {
  it('is made once in a quiet world, however the service shows it', async () => {
    await fc.assert(
      fc.asyncProperty(manners, fc.constantFrom<Takeover[]>('if-empty', 'always'), async (each, takeover) => {
        const world = new RegistrationWorld(each, takeover);
        await world.clock.advance(6 * HOUR);
        world.kill();
        expect(world.isRegistered()).toBe(true);
        expect(world.service.count('POST')).toBe(1);
        expect(world.service.count('GET')).toBeLessThanOrEqual(27);
        expect(world.broken).toEqual([]);
      }),
      { numRuns: runs(8, 40) },
    );
  });

  it('ends registered with the right secret whatever has happened, and breaks no rule on the way', async () => {
    const happenings = fc.array(fc.tuple(event, fc.integer({ min: 10, max: 2 * 60 * 60 })), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(manners, happenings, async (each, events) => {
        const world = new RegistrationWorld(each, 'always');
        for (const [what, seconds] of events) {
          await happen(world, what);
          await world.clock.advance(seconds * 1_000);
        }
        world.service.faults = [];
        world.service.getFaults = [];
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
        const secrets = JSON.stringify(world.store.row).match(/secret-\d/);
        expect(secrets).toBeNull();
      }),
      { numRuns: runs(12, 60) },
    );
  });

  it('never touches what is somebody else’s, unless told to', async () => {
    const happenings = fc.array(fc.tuple(event, fc.integer({ min: 10, max: 60 * 60 })), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(
        // What takes effect late can't be seen in time.
        manners.map((each) => ({ ...each, lateMs: 0 })),
        fc.constantFrom<Takeover[]>('never', 'if-empty'),
        happenings,
        async (each, takeover, events) => {
          const world = new RegistrationWorld(each, takeover);
          for (const [what, seconds] of events) {
            await happen(world, what);
            await world.clock.advance(seconds * 1_000);
          }
          world.service.faults = [];
          world.service.getFaults = [];
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

  it('is made again within eight minutes after it was removed, where something changes each minute', async () => {
    await fc.assert(
      fc.asyncProperty(
        manners.map((each) => ({ ...each, lateMs: 0 })),
        fc.integer({ min: 5 * 60, max: 2 * 60 * 60 }),
        async (each, seconds) => {
          const world = new RegistrationWorld(each);
          await world.clock.advance(seconds * 1_000);
          world.service.webhook = undefined;
          await world.clock.advance(8 * MINUTE);
          world.kill();
          expect(world.isRegistered()).toBe(true);
          expect(world.service.count('POST')).toBe(2);
          expect(world.warned).toEqual([
            'account 1001: our webhook was removed at the service: it is registered again',
          ]);
          expect(world.broken).toEqual([]);
        },
      ),
      { numRuns: runs(10, 60) },
    );
  });
});
