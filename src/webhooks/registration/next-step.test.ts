import { describe, expect, it } from 'vitest';
import {
  type OwnUrl,
  type Registration,
  type Seen,
  type SeenWebhook,
  type StoredRegistration,
  UNREGISTERED,
} from '../../model/webhook/registration.ts';
import { judgeSeen } from './judge-seen.ts';
import { nextStep } from './next-step.ts';
import { NO_SECRET, STOPPED } from './remedies.ts';
import type { RegistrationSettings } from './registration-step.ts';

const WANTED = 'https://mirror.example.com/webhooks/1001';
const THEIRS = 'https://other.example.com/T0/secret-path';
const NOW = new Date('2026-05-01T12:00:00Z');
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000);
const inMinutes = (minutes: number): Date => ago(-minutes);

const SETTINGS: RegistrationSettings = {
  wanted: WANTED,
  takeover: 'if-empty',
  fresh: false,
  lost: 0,
  weighedAt: undefined,
  countedAt: NOW,
  unannounced: 0,
};
const REGISTERED: Registration = {
  ...UNREGISTERED,
  state: 'registered',
  url: WANTED,
  secret: 's1',
  registeringAt: ago(600),
  registeredAt: ago(600),
  checkedAt: ago(15),
};
const OWN: readonly OwnUrl[] = [{ url: WANTED, registeredAt: ago(600) }];

function stored(
  registration: Registration = REGISTERED,
  more: Partial<StoredRegistration> = {},
): StoredRegistration {
  return { registration, ownUrls: OWN, onHold: false, now: NOW, ...more };
}

function shown(url: string, more: Partial<SeenWebhook> = {}): SeenWebhook {
  return { url, active: true, eventTypes: null, source: '{}', ...more };
}

const next = (registration?: Registration, settings = SETTINGS, more: Partial<StoredRegistration> = {}) =>
  nextStep(stored(registration, more), settings);

describe('when the service is asked', () => {
  it('is at once at the start, every 15 minutes after, and two minutes after a registration', () => {
    expect(next(UNREGISTERED)).toEqual({ kind: 'look' });
    expect(next()).toEqual({ kind: 'look' });
    const checked = { ...REGISTERED, checkedAt: ago(5) };
    expect(next(checked)).toEqual({ kind: 'wait', until: inMinutes(10) });
    expect(next(checked, { ...SETTINGS, fresh: true })).toEqual({ kind: 'look' });
    const young = { ...REGISTERED, registeredAt: ago(1), checkedAt: ago(1.5) };
    expect(next(young)).toEqual({ kind: 'wait', until: inMinutes(1) });
  });

  it('is every 15 minutes, too, where no public URL is set: the mirrored row is to be true', () => {
    const settings = { ...SETTINGS, wanted: undefined };
    expect(next({ ...UNREGISTERED, checkedAt: ago(15) }, settings).kind).toBe('look');
    expect(next({ ...UNREGISTERED, checkedAt: ago(14) }, settings).kind).toBe('wait');
  });

  it('is a minute after a request that registers, whoever sent it, and later and later while answers are lost', () => {
    const registering = { ...REGISTERED, state: 'registering', registeringAt: ago(0.5) } as const;
    const fresh = { ...SETTINGS, fresh: true };
    expect(next(registering, fresh)).toEqual({ kind: 'wait', until: inMinutes(0.5) });
    expect(next(registering, { ...SETTINGS, lost: 3 })).toEqual({ kind: 'wait', until: inMinutes(3.5) });
    expect(next(registering, { ...SETTINGS, lost: 20 })).toEqual({ kind: 'wait', until: inMinutes(14.5) });
    const over = { ...registering, registeringAt: ago(1) };
    expect(next(over).kind).toBe('look');
    // It was answered: nothing is under way.
    expect(next({ ...registering, state: 'registered' }, fresh).kind).toBe('look');
  });

  it('is at once where what is stored lies ahead: the clock was set back since', () => {
    const registering = { ...REGISTERED, state: 'registering', registeringAt: inMinutes(2) } as const;
    expect(next(registering)).toEqual({ kind: 'look' });
    expect(next({ ...REGISTERED, checkedAt: inMinutes(2) })).toEqual({ kind: 'look' });
    // Half a minute ahead is no such jump.
    const soon = { ...registering, registeringAt: inMinutes(0.5) };
    expect(next(soon)).toEqual({ kind: 'wait', until: inMinutes(1.5) });
  });

  it('is every 15 minutes still while it is suspect and was registered anew lately', () => {
    const registration = { ...REGISTERED, state: 'suspect', mismatches: 3, checkedAt: ago(5) } as const;
    for (const [suspectAt, minutes] of [
      [ago(10), 10],
      [ago(55), 5],
    ] as const) {
      expect(next({ ...registration, suspectAt })).toEqual({ kind: 'wait', until: inMinutes(minutes) });
    }
  });

  it('is not out of turn for what is not ours, nor where no public URL is set', () => {
    const inTurn = { kind: 'wait', until: inMinutes(14) };
    const checked = { ...REGISTERED, registeredAt: ago(1.5), registeringAt: ago(1.5), checkedAt: ago(1) };
    expect(next({ ...checked, state: 'foreign' })).toEqual(inTurn);
    const registering = { ...checked, state: 'registering' } as const;
    expect(next(registering, { ...SETTINGS, wanted: undefined })).toEqual(inTurn);
    expect(next(registering)).toEqual({ kind: 'look' });
  });

  it('is never more than once a minute', () => {
    for (const state of ['none', 'registering', 'registered', 'foreign', 'suspect', 'stopped'] as const) {
      const registration = { ...REGISTERED, state, checkedAt: ago(0.5), mismatches: 3, suspectAt: ago(100) };
      expect(next(registration).kind).not.toBe('look');
    }
  });
});

describe('changes that nothing announced', () => {
  it('are a reason to look, where there are three, three minutes after the last look', () => {
    const checked = { ...REGISTERED, checkedAt: ago(2) };
    const heard = { ...SETTINGS, unannounced: 2 };
    expect(next(checked, heard)).toEqual({ kind: 'wait', until: inMinutes(13) });
    const unheard = { ...SETTINGS, unannounced: 3 };
    expect(next(checked, unheard)).toEqual({ kind: 'wait', until: inMinutes(1) });
    expect(next({ ...checked, checkedAt: ago(3) }, unheard)).toEqual({ kind: 'look' });
    expect(next(checked, unheard, { onHold: true })).toEqual({ kind: 'wait', until: inMinutes(13) });
    const foreign = { ...checked, state: 'foreign' } as const;
    expect(next(foreign, unheard)).toEqual({ kind: 'wait', until: inMinutes(13) });
  });

  it('are counted once a minute, since the last delivery that was right', () => {
    const checked = { ...REGISTERED, checkedAt: ago(2) };
    const due = { ...SETTINGS, countedAt: ago(1) };
    expect(next(checked, due)).toEqual({ kind: 'count', since: ago(598), until: ago(1) });
    const verified = { ...checked, verifiedAt: ago(30) };
    expect(next(verified, due)).toEqual({ kind: 'count', since: ago(30), until: ago(1) });
    for (const none of [
      stored({ ...checked, verifiedAt: ago(0.5) }),
      stored({ ...checked, registeredAt: ago(2.5) }),
      stored({ ...checked, state: 'foreign' }),
    ]) {
      expect(nextStep(none, due).kind).not.toBe('count');
    }
    expect(next(checked, { ...due, wanted: undefined }).kind).toBe('wait');
  });
});

describe('signatures that stopped matching', () => {
  const mistrusted: Registration = { ...REGISTERED, mismatches: 3, verifiedAt: ago(11), checkedAt: ago(1) };

  it('have it weighed after three, ten minutes after the last success, what changed since and was announced to nobody', () => {
    const weigh = (since: Date) => ({ kind: 'weigh', since, until: ago(10) });
    expect(next(mistrusted)).toEqual(weigh(ago(11)));
    // Nothing of ours is wanted any more: whoever signs, it is removed.
    expect(next(mistrusted, { ...SETTINGS, wanted: undefined }).kind).toBe('wait');
    expect(next({ ...mistrusted, verifiedAt: null })).toEqual(weigh(ago(600)));
    // What changed before it was registered was announced to nobody.
    const renewed = { ...mistrusted, registeredAt: ago(10.5) };
    expect(next(renewed)).toEqual(weigh(ago(10.5)));
    expect(next({ ...mistrusted, registeredAt: ago(9) }).kind).toBe('wait');
    for (const good of [
      { ...mistrusted, mismatches: 2 },
      { ...mistrusted, verifiedAt: ago(9) },
    ]) {
      expect(next(good).kind).toBe('wait');
    }
  });

  it('have it weighed every five minutes', () => {
    const weighed = (minutes: number) => ({ ...SETTINGS, weighedAt: ago(minutes) });
    expect(next(mistrusted, weighed(4.9)).kind).toBe('wait');
    expect(next(mistrusted, weighed(5)).kind).toBe('weigh');
  });

  it('need no weighing where no secret is known at all', () => {
    expect(next({ ...REGISTERED, secret: null })).toEqual({
      kind: 'record',
      change: { state: 'suspect', error: NO_SECRET },
    });
  });

  it('are followed by another registration, and that by the next an hour later', () => {
    const suspect: Registration = { ...mistrusted, state: 'suspect' };
    expect(judgeSeen(stored(suspect), shown(WANTED), SETTINGS)).toMatchObject({
      kind: 'register',
      change: { state: 'registering', suspectAt: NOW },
    });
    const lately = { ...suspect, suspectAt: ago(59) };
    expect(judgeSeen(stored(lately), shown(WANTED), SETTINGS)).toEqual({ kind: 'record', change: {} });
  });

  it('are forgotten when one matches', () => {
    const again: Registration = { ...mistrusted, state: 'suspect', mismatches: 0, verifiedAt: NOW };
    const step = next(again);
    expect(step).toEqual({ kind: 'record', change: { state: 'registered', error: null } });
  });
});

describe('what is shown', () => {
  const after = (
    seen: Seen,
    settings: Partial<RegistrationSettings> = {},
    state: StoredRegistration = stored(),
  ) => judgeSeen(state, seen, { ...SETTINGS, ...settings });
  const never = stored(UNREGISTERED, { ownUrls: [] });

  it('is left as it is where it is ours', () => {
    const fine = { kind: 'record', change: { state: 'registered', error: null } };
    expect(after(shown(`${WANTED}/`))).toEqual(fine);
    expect(after(shown(WANTED, { active: null, eventTypes: ['*'] }))).toEqual(fine);
  });

  it.each([
    ['nothing', 'none', { never: false, 'if-empty': true, always: true }],
    [
      'one that is switched off',
      shown(THEIRS, { active: false }),
      { never: false, 'if-empty': true, always: true },
    ],
    ['somebody else’s', shown(THEIRS), { never: false, 'if-empty': false, always: true }],
    ['the URL wanted, registered elsewhere', shown(WANTED), { never: true, 'if-empty': true, always: true }],
  ] as const)(
    'by an account without a webhook of ours, being %s, is replaced as configured',
    (_, seen, replaced) => {
      for (const takeover of ['never', 'if-empty', 'always'] as const) {
        expect(after(seen, { takeover }, never).kind).toBe(replaced[takeover] ? 'register' : 'record');
      }
    },
  );

  it('by an account that never registered and may not, being nothing, is said to be so', () => {
    expect(after('none', { takeover: 'never' }, stored({ ...UNREGISTERED, state: 'foreign' }))).toMatchObject(
      {
        kind: 'register',
      },
    );
    const foreign = stored({ ...UNREGISTERED, state: 'foreign' }, { ownUrls: [] });
    expect(after('none', { takeover: 'never' }, foreign)).toMatchObject({
      kind: 'record',
      change: { state: 'none', error: expect.stringContaining('never') as string },
    });
  });

  it('is ours, but not as registered, at a URL that the last registration was not of', () => {
    const old = 'https://old.example.com/webhooks/1001';
    const urls = { old: { url: old, registeredAt: ago(700) }, now: { url: WANTED, registeredAt: ago(600) } };
    // Moved back by somebody: our old URL is there again.
    const moved = stored(REGISTERED, { ownUrls: [urls.old, urls.now] });
    expect(after(shown(old), {}, moved)).toMatchObject({ kind: 'register', change: { replacedAt: [NOW] } });
    // The URL wanted is there, and nobody here has registered it: its secret is somebody's.
    const elsewhere = stored(
      { ...REGISTERED, url: old },
      { ownUrls: [{ url: old, registeredAt: ago(600) }] },
    );
    expect(after(shown(WANTED), {}, elsewhere)).toMatchObject({ kind: 'register' });
    // So is the old one where moving it was refused: it delivers, but not to where it should.
    const refused = { ...REGISTERED, registeringAt: ago(61), verifiedAt: ago(3) };
    const delivers = stored(refused, { ownUrls: [{ url: old, registeredAt: ago(600) }] });
    expect(after(shown(old), {}, delivers)).toMatchObject({ kind: 'register', change: { replacedAt: [] } });
  });

  it('counts as replaced only where it was in force: registered at the URL wanted, its secret known', () => {
    const always = { takeover: 'always' } as const;
    const replaced = (registration: Partial<Registration>, more: Partial<StoredRegistration> = {}) => {
      const step = after(shown(THEIRS), always, stored({ ...REGISTERED, ...registration }, more));
      return step.kind === 'register' && step.change.replacedAt?.length;
    };
    expect(replaced({})).toBe(1);
    expect(replaced({ state: 'suspect' })).toBe(1);
    expect(replaced({ state: 'foreign' })).toBe(0);
    expect(replaced({ state: 'registering' })).toBe(0);
    expect(replaced({ state: 'suspect', secret: null })).toBe(0);
    expect(replaced({}, { ownUrls: [{ url: 'https://old.example.com', registeredAt: ago(600) }] })).toBe(0);
  });

  it('has not the secret that is known where one was refused since, and no delivery was signed with it', () => {
    const refused = { ...REGISTERED, registeringAt: ago(61) };
    for (const verifiedAt of [null, ago(70), ago(61)]) {
      expect(after(shown(WANTED), {}, stored({ ...refused, verifiedAt })).kind).toBe('register');
    }
    const verified = after(shown(WANTED), {}, stored({ ...refused, verifiedAt: ago(60) }));
    expect(verified).toMatchObject({ change: { state: 'registered' } });
  });

  it('names the host and nothing else of somebody’s URL', () => {
    const step = after(shown(THEIRS), {}, never);
    expect(step).toMatchObject({ change: { state: 'foreign' } });
    expect(JSON.stringify(step)).toContain('other.example.com');
    expect(JSON.stringify(step)).not.toContain('secret-path');
  });

  it.each(['never', 'if-empty', 'always'] as const)(
    'is renewed where it is ours, also with takeover %s',
    (takeover) => {
      const old = 'https://old.example.com/webhooks/1001';
      const moved = stored({ ...REGISTERED, url: old }, { ownUrls: [{ url: old, registeredAt: ago(600) }] });
      for (const step of [
        after(shown(old), { takeover }, moved),
        after(shown(WANTED, { eventTypes: ['list.failed'] }), { takeover }),
        after(shown(WANTED), { takeover }, stored({ ...REGISTERED, secret: null })),
        after(shown(WANTED), { takeover }, stored({ ...REGISTERED, state: 'registering' })),
        after('none', { takeover }),
      ]) {
        expect(step).toMatchObject({ kind: 'register', url: WANTED, change: { registeringAt: NOW } });
      }
    },
  );

  it('proves nothing for two minutes after a registration: it may not show yet', () => {
    const young = stored({ ...REGISTERED, registeringAt: ago(1.9), registeredAt: ago(1.9) });
    expect(after('none', {}, young)).toEqual({ kind: 'record', change: {} });
    expect(after(shown(THEIRS), { takeover: 'always' }, young)).toEqual({ kind: 'record', change: {} });
    // It may show something else where another request was sent since, whose answer is not known.
    const again = { ...young.registration, state: 'registering', registeringAt: ago(1.1) } as const;
    expect(after('none', {}, stored(again)).kind).toBe('register');
  });

  it('stops all registering where ours is replaced twice within an hour, until a restart an hour later', () => {
    const always = { takeover: 'always' } as const;
    const once = after(shown(THEIRS), always);
    expect(once).toMatchObject({ kind: 'register', change: { replacedAt: [NOW] } });
    const twice = after(shown(THEIRS), always, stored({ ...REGISTERED, replacedAt: [ago(59)] }));
    expect(twice).toEqual({
      kind: 'record',
      change: { state: 'stopped', replacedAt: [ago(59), NOW], error: STOPPED },
    });
    const longAgo = after(shown(THEIRS), always, stored({ ...REGISTERED, replacedAt: [ago(61)] }));
    expect(longAgo).toMatchObject({ kind: 'register', change: { replacedAt: [NOW] } });

    const stopped = stored({ ...REGISTERED, state: 'stopped', replacedAt: [ago(90), ago(61)] });
    expect(after(shown(THEIRS), always, stopped)).toEqual({ kind: 'record', change: { error: STOPPED } });
    expect(after(shown(THEIRS), { ...always, fresh: true }, stopped).kind).toBe('register');
    const lately = stored({ ...REGISTERED, state: 'stopped', replacedAt: [ago(59), ago(30)] });
    expect(after(shown(THEIRS), { ...always, fresh: true }, lately).kind).toBe('record');
    expect(after(shown(WANTED), always, lately)).toMatchObject({ change: { state: 'registered' } });
  });

  it('is not asked to change for an hour after a refusal, unless another URL is wanted', () => {
    const refused = { ...UNREGISTERED, url: WANTED, registeringAt: ago(59) };
    expect(after('none', {}, stored(refused)).kind).toBe('record');
    expect(after('none', {}, stored({ ...refused, registeringAt: ago(60) })).kind).toBe('register');
    expect(after('none', {}, stored({ ...refused, url: 'https://typo.example.com' })).kind).toBe('register');
    // The one before the refused one is still in force: its signatures match.
    const works = { ...REGISTERED, registeringAt: ago(61), verifiedAt: ago(3) };
    expect(after(shown(WANTED), {}, stored(works))).toMatchObject({ change: { state: 'registered' } });
  });

  it('is removed where it is ours and no public URL is set any more', () => {
    expect(after(shown(WANTED), { wanted: undefined })).toEqual({ kind: 'remove', change: {} });
    expect(after(shown(THEIRS), { wanted: undefined })).toEqual({
      kind: 'record',
      change: { state: 'none', error: null },
    });
  });

  it('is left alone by a copy of the database, also after its release: the original’s is not its own', () => {
    const copy = stored(REGISTERED, { onHold: true });
    const elsewhere = 'https://staging.example.com/webhooks/1001';
    for (const wanted of [undefined, elsewhere]) {
      const step = after(shown(WANTED), { wanted, takeover: 'always' }, copy);
      expect(step).toMatchObject({ kind: 'record', change: { keepOwnUrls: [] } });
      const released = stored(REGISTERED, { ownUrls: [] });
      expect(after(shown(WANTED), { wanted }, released).kind).toBe('record');
    }
    // Restored where it was: ours stays ours.
    const restored = after(shown(WANTED, { eventTypes: [] }), {}, copy);
    expect(restored.kind).toBe('record');
    expect(restored).not.toHaveProperty('change.keepOwnUrls');
    const old = { url: 'https://old.example.com', registeredAt: ago(700) };
    for (const registeredAt of [ago(600), ago(650)]) {
      const both = stored(REGISTERED, { onHold: true, ownUrls: [old, { url: WANTED, registeredAt }] });
      expect(after(shown(WANTED), {}, both)).toMatchObject({ change: { keepOwnUrls: [WANTED] } });
    }
    // However the service spells it.
    const spelled = [...OWN, { url: `${WANTED}?via=hooks`, registeredAt: ago(600) }];
    const again = after(shown(WANTED), {}, stored(REGISTERED, { onHold: true, ownUrls: spelled }));
    expect(again).not.toHaveProperty('change.keepOwnUrls');
  });

  it('is seen to at once after a release', () => {
    const onHold = { ...REGISTERED, error: 'x', checkedAt: ago(2) };
    const step = after(shown(WANTED, { eventTypes: [] }), {}, stored(onHold, { onHold: true }));
    const error = step.kind === 'record' ? (step.change.error ?? '') : '';
    expect(error).toContain('submissions release');
    expect(next({ ...onHold, error })).toEqual({ kind: 'look' });
    expect(nextStep(stored({ ...onHold, error }, { onHold: true }), SETTINGS).kind).toBe('wait');
  });
});
