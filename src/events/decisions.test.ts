import { describe, expect, it } from 'vitest';
import { UNREGISTERED } from '../../test/support/webhooks/registration-world.ts';
import type { Registration, Seen } from './registration.ts';
import {
  afterRequest,
  decide,
  lookAt,
  nothingArrives,
  ON_HOLD,
  type RegistrationSettings,
  settledBy,
  silence,
  STOPPED,
  SUSPECT_SIGNATURES,
} from './decisions.ts';

const WANTED = 'https://mirror.example.com/webhooks/1001';
const OLD = 'https://old.example.com/webhooks/1001';
const THEIRS = 'https://other.example.com/T0/secret-path';
const NOW = new Date('2026-05-01T12:00:00Z');
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000);
const inMinutes = (minutes: number): Date => ago(-minutes);

const SETTINGS: RegistrationSettings = {
  wanted: WANTED,
  takeover: 'if-empty',
  fresh: false,
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
  ownUrls: [WANTED],
  now: NOW,
};

/** One of which nothing is known but its URL. */
const BLANK: Registration = { ...UNREGISTERED, ownUrls: [WANTED], now: NOW };

/** What differs of a registration that is in order. */
type Stored = Partial<Registration>;
type Settings = Partial<RegistrationSettings>;

/** Minutes until the service is asked what is registered. */
function wait(changes: Stored = {}, settings: Settings = {}): number {
  const at = lookAt({ ...REGISTERED, ...changes }, { ...SETTINGS, ...settings });
  return (at.getTime() - NOW.getTime()) / 60_000;
}

function shown(url: string, more: Partial<Exclude<Seen, 'none'>> = {}): Exclude<Seen, 'none'> {
  return { url, active: true, source: '{}', ...more };
}

function judged(seen: Seen, changes: Stored = {}, settings: Settings = {}): ReturnType<typeof decide> {
  return decide({ ...REGISTERED, ...changes }, seen, { ...SETTINGS, ...settings });
}

const record = (change: object) => ({ kind: 'record', change });
const register = (change: object) => ({ kind: 'register', change });

describe('the service is asked what is registered', () => {
  const REGISTERING = { state: 'registering', registeringAt: ago(0.5) } as const;
  const NO_URL = { wanted: undefined };
  const YOUNG = { registeringAt: ago(1), registeredAt: ago(1), checkedAt: ago(1) };
  const SILENT = { unannounced: 3 };

  it.each<[string, number, Stored, Settings?]>([
    ['at the start', 0, BLANK],
    ['every hour', 0, { checkedAt: ago(60) }],
    ['no sooner', 55, { checkedAt: ago(5) }],
    ['at the start of a process', 0, { checkedAt: ago(5) }, { fresh: true }],
    ['every quarter of an hour where something is wrong', 5, { checkedAt: ago(10), error: 'x' }],
    ['where no URL is set, too: the row is to be true', 0, { ...BLANK, checkedAt: ago(60) }, NO_URL],
    ['no sooner then', 1, { ...BLANK, checkedAt: ago(59) }, NO_URL],
    [
      'no sooner then after a lost answer',
      1,
      { ...REGISTERING, registeringAt: ago(9), checkedAt: ago(59) },
      NO_URL,
    ],
    ['two minutes after a request, whoever sent it', 1.5, REGISTERING, { fresh: true }],
    ['at once when these are over', 0, { ...REGISTERING, registeringAt: ago(2), checkedAt: ago(2) }],
    ['two minutes after one that was answered', 1, YOUNG, { fresh: true }],
    ['at once where another URL is wanted since', 0, { ...YOUNG, url: OLD }, { fresh: true }],
    ['after a clock was set back', 0, { ...REGISTERING, registeringAt: inMinutes(2) }],
    ['after a clock was set back since the last look', 0, { checkedAt: inMinutes(2) }],
    ['not at half a minute', 2.5, { ...REGISTERING, registeringAt: inMinutes(0.5) }],
    ['in turn after two unannounced changes', 58, { checkedAt: ago(2) }, { unannounced: 2 }],
    ['three minutes after the last, after three', 1, { checkedAt: ago(2) }, SILENT],
    ['which are over', 0, { checkedAt: ago(3) }, SILENT],
    [
      'every quarter of an hour once that was said',
      13,
      { checkedAt: ago(2), error: nothingArrives(3) },
      SILENT,
    ],
    ['in turn on hold', 13, { checkedAt: ago(2), error: ON_HOLD, onHold: true }],
    [
      'in turn on hold, whatever may be under way',
      5,
      { ...REGISTERING, registeringAt: ago(9), checkedAt: ago(55), onHold: true },
    ],
  ])('%s: in %d minutes', (_, minutes, changes, settings) => {
    expect(wait(changes, settings)).toBe(minutes);
  });
});

it.each<[string, readonly [number, number] | undefined, Stored]>([
  ['since an accepted registration shows', [598, 1], {}],
  ['since the last delivery that was right', [30, 1], { verifiedAt: ago(30) }],
  ['not where that came just now', undefined, { verifiedAt: ago(0.5) }],
  ['not where it may not show yet', undefined, { registeredAt: ago(2.5) }],
  ['while the secret is suspect, too', [598, 1], { state: 'suspect' }],
  ['not of what is not ours', undefined, { state: 'foreign' }],
])('changes that nothing announced are counted %s', (_, span, changes) => {
  const [since, until] = span?.map(ago) ?? [];
  expect(silence({ ...REGISTERED, ...changes })).toEqual(span && { since, until });
});

describe('signatures that stopped matching', () => {
  const GONE = { mismatches: 3 };
  const SILENT = { unannounced: 3 };
  const FINE = record({ state: 'registered', error: null });

  it.each<[string, object, Stored, Settings]>([
    [
      'three, and three changes that nothing announced',
      register({ state: 'registering', registeringAt: NOW }),
      {},
      {},
    ],
    ['not two', FINE, { mismatches: 2 }, {}],
    ['not where what changes is announced', FINE, {}, { unannounced: 2 }],
    [
      'an hour after the last registration',
      record({ state: 'suspect', error: SUSPECT_SIGNATURES }),
      { registeringAt: ago(59), registeredAt: ago(59) },
      {},
    ],
    ['not on hold', record({ error: ON_HOLD }), { onHold: true }, {}],
    ['whatever the takeover', register({}), {}, { takeover: 'never' }],
  ])('have it registered again: %s', (_, verdict, changes, settings) => {
    expect(judged(shown(WANTED), { ...GONE, ...changes }, { ...SILENT, ...settings })).toMatchObject(verdict);
  });

  it('do not count as a replacement by others', () => {
    const twice = { ...GONE, replacedAt: [ago(30)] };
    expect(judged(shown(WANTED), twice, SILENT)).toMatchObject(register({ replacedAt: [ago(30)] }));
  });

  it.each<[string, object | undefined, Stored]>([
    ['a right one', { state: 'registered', error: null }, { state: 'suspect' }],
    ['a right one that was said to come no more', { error: null }, { error: nothingArrives(3) }],
    ['none since the last look', undefined, { state: 'suspect', verifiedAt: ago(16) }],
    ['a right one, where nothing is wrong', undefined, {}],
    ['a right one, where something else is wrong', undefined, { error: 'the service refuses it' }],
  ])('are settled by %s', (_, change, changes) => {
    const settled = settledBy({ ...REGISTERED, verifiedAt: ago(14), ...changes });
    if (change === undefined) expect(settled).toBeUndefined();
    else expect(settled).toMatchObject(change);
  });
});

describe('what is shown', () => {
  const NEVER = { ...BLANK, ownUrls: [] };
  const ALWAYS = { takeover: 'always' } as const;
  const FINE = record({ state: 'registered', error: null });

  it('is left unchanged if it is ours', () => {
    expect(judged(shown(`${WANTED}/`))).toEqual(FINE);
    expect(judged(shown(WANTED, { active: null }))).toEqual(FINE);
  });

  it.each<[string, Seen, readonly string[]]>([
    ['nothing', 'none', ['if-empty', 'always']],
    ['one that is switched off', shown(THEIRS, { active: false }), ['if-empty', 'always']],
    ['somebody else’s', shown(THEIRS), ['always']],
    ['the URL wanted, registered elsewhere', shown(WANTED), ['never', 'if-empty', 'always']],
  ])('by an account without a webhook of ours, being %s, is replaced as configured', (_, seen, replaced) => {
    for (const takeover of ['never', 'if-empty', 'always'] as const) {
      const kind = replaced.includes(takeover) ? 'register' : 'record';
      expect([takeover, judged(seen, NEVER, { takeover }).kind]).toEqual([takeover, kind]);
    }
  });

  it('by an account that never registered and may not, being nothing, is said to be so', () => {
    const foreign = { ...BLANK, state: 'foreign' } as const;
    expect(judged('none', foreign, { takeover: 'never' }).kind).toBe('register');
    expect(judged('none', { ...foreign, ownUrls: [] }, { takeover: 'never' })).toMatchObject(
      record({ state: 'none', error: expect.stringContaining('never') as string }),
    );
  });

  const AT_OLD = { ownUrls: [OLD] };
  const REFUSED = { registeringAt: ago(61) };
  const NOT_MOVED = { ...AT_OLD, ...REFUSED, verifiedAt: ago(3) };
  const NONE_YET = { ...BLANK, url: WANTED } as const;

  it.each<[string, Seen, Stored, object]>([
    [
      'in the service’s spelling',
      shown(`${WANTED}?via=hooks`),
      { ownUrls: [WANTED, `${WANTED}?via=hooks`] },
      FINE,
    ],
    ['registered by somebody, whose the secret is', shown(WANTED), { url: OLD, ...AT_OLD }, register({})],
    ['refused, and not moved', shown(OLD), NOT_MOVED, register({ replacedAt: [] })],
    ['refused, nothing signed since', shown(WANTED), REFUSED, register({})],
    ['refused, the last signed before', shown(WANTED), { ...REFUSED, verifiedAt: ago(70) }, register({})],
    ['refused, the last signed just then', shown(WANTED), { ...REFUSED, verifiedAt: ago(61) }, register({})],
    ['refused, the secret still good', shown(WANTED), { ...REFUSED, verifiedAt: ago(60) }, FINE],
    ['refused an hour ago', 'none', { ...NONE_YET, registeringAt: ago(60) }, register({})],
    ['refused within the hour', 'none', { ...NONE_YET, registeringAt: ago(59) }, record({})],
    [
      'copied without its secret',
      shown(WANTED),
      { secret: null, registeringAt: ago(5), registeredAt: ago(5) },
      register({}),
    ],
    ['refused at another URL', 'none', { ...NONE_YET, url: OLD, registeringAt: ago(59) }, register({})],
  ])('is ours, and is registered again or not: %s', (_, seen, changes, verdict) => {
    expect(judged(seen, changes)).toMatchObject(verdict);
  });

  it.each<[number, Stored]>([
    [1, {}],
    [1, { state: 'suspect' }],
    [0, { state: 'foreign' }],
    [0, { state: 'registering' }],
    [0, AT_OLD],
  ])('counts as replaced (%i) only if it was in force: %j', (count, changes) => {
    const replacedAt = Array.from({ length: count }, () => NOW);
    expect(judged(shown(THEIRS), changes, ALWAYS)).toMatchObject(register({ replacedAt }));
  });

  it('shows only the host of another program’s URL', () => {
    const step = judged(shown(THEIRS), NEVER);
    expect(step).toMatchObject({ change: { state: 'foreign' } });
    expect(JSON.stringify(step)).toContain('other.example.com');
    expect(JSON.stringify(step)).not.toContain('secret-path');
  });

  it.each<[string, Seen, Stored?]>([
    ['at another URL', shown(OLD), { url: OLD, ...AT_OLD }],
    ['without a secret', shown(WANTED), { secret: null }],
    ['by a request without an answer', shown(WANTED), { state: 'registering' }],
    ['and is gone', 'none'],
  ])('is renewed if it is ours, %s, with any takeover', (_, seen, changes) => {
    for (const takeover of ['never', 'if-empty', 'always'] as const) {
      const renewed = register({ registeringAt: NOW, url: WANTED });
      expect(judged(seen, changes, { takeover })).toMatchObject(renewed);
    }
  });

  it('stops registrations if ours is replaced twice within an hour, until a restart an hour later', () => {
    const replaced = (changes: Stored, fresh = false) => judged(shown(THEIRS), changes, { ...ALWAYS, fresh });
    expect(replaced({ replacedAt: [ago(59)] })).toEqual(
      record({ state: 'stopped', replacedAt: [ago(59), NOW], error: STOPPED }),
    );
    expect(replaced({ replacedAt: [ago(61)] })).toMatchObject(register({ replacedAt: [NOW] }));
    const stopped = { state: 'stopped', replacedAt: [ago(90), ago(61)] } as const;
    expect(replaced(stopped)).toEqual(record({ error: STOPPED }));
    expect(replaced(stopped, true).kind).toBe('register');
    const lately = { state: 'stopped', replacedAt: [ago(59), ago(30)] } as const;
    expect(replaced(lately, true).kind).toBe('record');
    expect(judged(shown(WANTED), lately, ALWAYS)).toMatchObject({ change: { state: 'registered' } });
  });

  it('is left unchanged if no public URL is set', () => {
    for (const url of [WANTED, THEIRS])
      expect(judged(shown(url), {}, { wanted: undefined })).toEqual(record({ state: 'none', error: null }));
  });

  it('is left alone by a copy of the database, also after its release', () => {
    for (const wanted of [undefined, 'https://staging.example.com/webhooks/1001']) {
      const copy = judged(shown(WANTED), { onHold: true }, { wanted, takeover: 'always' });
      expect(copy).toMatchObject(record({ ownUrls: [] }));
      expect(judged(shown(WANTED), { ownUrls: [] }, { wanted }).kind).toBe('record');
    }
    // Restored where it was: ours stays ours, however the service spells it.
    const ownUrls = [WANTED, `${WANTED}?via=hooks`];
    const restored = judged(shown(OLD), { onHold: true, ownUrls });
    expect(restored).toEqual(record({ error: ON_HOLD }));
  });
});

const SEEN: Exclude<Seen, 'none'> = {
  url: `${WANTED}?via=hooks`,
  active: true,
  source: '{}',
};
const words = (part: string): string => expect.stringContaining(part) as string;

type Case = [string, Parameters<typeof afterRequest>[0], Registration['state'], object];
const refused = { kind: 'refused', why: '402' } as const;
const accepted = (secret: string) => ({ kind: 'accepted', secret, seen: SEEN }) as const;
const ACCEPTED = {
  registeringAt: NOW,
  registeredAt: NOW,
  mismatches: 0,
  ownUrls: [WANTED, SEEN.url],
};
const GOOD = { ...ACCEPTED, state: 'registered', error: null };

it.each<Case>([
  ['accepted: ours in both spellings', accepted('new'), 'registered', { ...GOOD, secret: 'new' }],
  [
    'lost: it is waited for from now on, however long it took',
    { kind: 'lost', why: 'a reset' },
    'registered',
    { registeringAt: NOW, error: words('not known to be registered (a reset)') },
  ],
  [
    'refused while another was under way: nothing of ours is known to be there',
    refused,
    'registering',
    { state: 'none', error: words('refuses') },
  ],
])('what is stored of a request that registers and was %s', (_, answer, before, change) => {
  expect(afterRequest(answer, WANTED, before, NOW)).toEqual(change);
});

it('a registration that is accepted without being shown has the URL that was sent', () => {
  const answer = { kind: 'accepted', secret: 'new', seen: undefined } as const;
  const change = afterRequest(answer, WANTED, 'registered', NOW);
  expect(change).toMatchObject({ ownUrls: [WANTED] });
});

it('a refused registration leaves the earlier one in force', () => {
  for (const there of ['none', 'registered', 'foreign', 'suspect', 'stopped'] as const) {
    const change = afterRequest(refused, WANTED, there, NOW);
    expect(change).toEqual({ state: there, error: words('refuses') });
  }
});
