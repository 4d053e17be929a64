import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { OURS as WANTED, THEIRS } from '../../test/support/webhooks/registration-world.ts';
import { isLately, type Registration, REGISTRATION_STATES, type Seen } from './registration.ts';
import { decide, lookAt, ON_HOLD, type RegistrationSettings, sameUrl } from './decisions.ts';

// Whatever is stored, shown and configured.

const OLD = 'https://old.example.com/webhooks/1001';
const NOW = new Date('2026-05-01T12:00:00Z');
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000);
const shown = (url: string, active: boolean): Seen => ({ url, active, source: '{}' });

const moment = fc.option(fc.integer({ min: -1, max: 130 }).map(ago));
const url = fc.constantFrom(WANTED, `${WANTED}/`, OLD, THEIRS);
const registration: fc.Arbitrary<Registration> = fc.record({
  state: fc.constantFrom(...REGISTRATION_STATES),
  url: fc.option(url),
  secret: fc.option(fc.constant('s1')),
  registeringAt: moment,
  registeredAt: moment,
  checkedAt: moment,
  replacedAt: fc.array(fc.integer({ min: 0, max: 130 }).map(ago), { maxLength: 3 }),
  verifiedAt: moment,
  mismatches: fc.integer({ min: 0, max: 3 }),
  error: fc.constantFrom(null, 'x', ON_HOLD),
  ownUrls: fc.uniqueArray(fc.constantFrom(WANTED, OLD), { maxLength: 2 }),
  onHold: fc.boolean(),
  now: fc.constant(NOW),
});
const seen: fc.Arbitrary<Seen> = fc.oneof(
  fc.constant('none' as const),
  fc.tuple(url, fc.boolean()).map(([at, active]) => shown(at, active)),
);
const settings: fc.Arbitrary<RegistrationSettings> = fc.record({
  wanted: fc.option(fc.constant(WANTED), { nil: undefined, freq: 8 }),
  takeover: fc.constantFrom('never', 'if-empty', 'always'),
  fresh: fc.boolean(),
  unannounced: fc.integer({ min: 0, max: 4 }),
});

it('a decision about the webhook registers nothing on hold or after a second replacement within an hour, and replaces another’s only if that is configured', () => {
  fc.assert(
    fc.property(registration, seen, settings, (it, there, how) => {
      const { kind, change } = decide(it, there, how);
      if (it.onHold) expect(kind).toBe('record');
      if (kind !== 'register') return;
      expect(change).toMatchObject({ state: 'registering', url: WANTED, registeringAt: NOW });
      const ours = [...it.ownUrls, WANTED];
      const theirs = there !== 'none' && there.active === true && !ours.some((own) => sameUrl(own, there.url));
      if (theirs) expect(how.takeover).toBe('always');
      const before = it.replacedAt.filter((at) => at > ago(60)).length;
      const after = change.replacedAt?.length ?? 0;
      expect(after > before && after > 1).toBe(false);
    }),
  );
});

it('a webhook in order is registered again only if signatures and changes show it, and at most hourly', () => {
  fc.assert(
    fc.property(registration, settings, (it, how) => {
      const inOrder = {
        state: 'registered',
        secret: 's1',
        ownUrls: [WANTED],
        registeredAt: ago(-1),
      } as const;
      const { kind } = decide({ ...it, ...inOrder }, shown(WANTED, true), { ...how, wanted: WANTED });
      if (kind !== 'register') return;
      expect(it.mismatches).toBe(3);
      expect(how.unannounced).toBeGreaterThanOrEqual(3);
      expect(isLately(it.registeringAt, 3_600_000, NOW)).toBe(false);
    }),
  );
});

it('a look at the webhook is due within an hour, and not again at once', () => {
  fc.assert(
    fc.property(registration, seen, settings, (it, there, how) => {
      expect(lookAt(it, how).getTime()).toBeLessThanOrEqual(ago(-62).getTime());
      const { kind, change } = decide(it, there, how);
      if (kind !== 'record') return;
      const looked = { ...it, ...change, checkedAt: NOW };
      expect(lookAt(looked, { ...how, fresh: false }).getTime()).toBeGreaterThan(NOW.getTime());
    }),
  );
});
