import { describe, expect, it } from 'vitest';
import { OURS as WANTED, UNREGISTERED } from '../../test/support/webhooks/registration-world.ts';
import type { Registration, Seen } from './registration.ts';
import {
  afterRequest,
  decide,
  hostOf,
  lookAt,
  nothingArrives,
  ON_HOLD,
  type RegistrationSettings,
  sameUrl,
  settledBy,
  silence,
  STOPPED,
  SUSPECT_SIGNATURES,
} from './decisions.ts';

const OLD = 'https://old.example.com/webhooks/1001';
const THEIRS = 'https://other.example.com/T0/secret-path';
const SPELT = `${WANTED}?via=hooks`;
const NOW = new Date('2026-05-01T12:00:00Z');
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000);

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

const shown = (url: string, active: boolean | null = true) => ({ url, active, source: '{}' });
const judged = (seen: Seen, changes: Stored = {}, settings: Settings = {}) =>
  decide({ ...REGISTERED, ...changes }, seen, { ...SETTINGS, ...settings });
const record = (change: object) => ({ kind: 'record', change });
const register = (change: object) =>
  expect.objectContaining({ kind: 'register', change: expect.objectContaining(change) as object }) as object;
const words = (part: string): string => expect.stringContaining(part) as string;

const FINE = record({ state: 'registered', error: null });
const SILENT = { unannounced: 3 };
const ALWAYS = { takeover: 'always' } as const;
const TAKEOVERS = ['never', 'if-empty', 'always'] as const;
const NO_URL = { wanted: undefined };
const FRESH = { fresh: true };

const ASKED = { state: 'registering', registeringAt: ago(0.5) } as const;
const YOUNG = { registeringAt: ago(1), registeredAt: ago(1), checkedAt: ago(1) };
const TOLD = { checkedAt: ago(2), error: nothingArrives(3) };
it.each<[string, number, Stored, Settings?]>([
  ['at the start', 0, BLANK],
  ['every hour', 0, { checkedAt: ago(60) }],
  ['no sooner', 55, { checkedAt: ago(5) }],
  ['at the start of a process', 0, { checkedAt: ago(5) }, FRESH],
  ['every quarter of an hour where something is wrong', 5, { checkedAt: ago(10), error: 'x' }],
  ['where no URL is set, too: the row is to be true', 0, { ...BLANK, checkedAt: ago(60) }, NO_URL],
  ['no sooner then', 1, { ...BLANK, checkedAt: ago(59) }, NO_URL],
  ['nor after a lost answer', 1, { ...ASKED, registeringAt: ago(9), checkedAt: ago(59) }, NO_URL],
  ['two minutes after a request, whoever sent it', 1.5, ASKED, FRESH],
  ['at once when these are over', 0, { ...ASKED, registeringAt: ago(2), checkedAt: ago(2) }],
  ['two minutes after one that was answered', 1, YOUNG, FRESH],
  ['at once where another URL is wanted since', 0, { ...YOUNG, url: OLD }, FRESH],
  ['after a clock was set back', 0, { ...ASKED, registeringAt: ago(-2) }],
  ['after a clock was set back since the last look', 0, { checkedAt: ago(-2) }],
  ['not at half a minute', 2.5, { ...ASKED, registeringAt: ago(-0.5) }],
  ['in turn after two unannounced changes', 58, { checkedAt: ago(2) }, { unannounced: 2 }],
  ['three minutes after the last, after three', 1, { checkedAt: ago(2) }, SILENT],
  ['which are over', 0, { checkedAt: ago(3) }, SILENT],
  ['every quarter of an hour once that was said', 13, TOLD, SILENT],
  ['in turn on hold', 13, { checkedAt: ago(2), error: ON_HOLD, onHold: true }],
  ['so, too, with one under way', 5, { ...ASKED, registeringAt: ago(9), checkedAt: ago(55), onHold: true }],
])('the service is asked what is registered %s: in %d minutes', (_, minutes, changes, settings) => {
  const at = lookAt({ ...REGISTERED, ...changes }, { ...SETTINGS, ...settings });
  expect((at.getTime() - NOW.getTime()) / 60_000).toBe(minutes);
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
  const SUSPECT = record({ state: 'suspect', error: SUSPECT_SIGNATURES });
  // Those mismatches are no replacement by others.
  const EARLIER = { replacedAt: [ago(30)] };

  it.each<[string, object, Stored, Settings?]>([
    ['three, and three changes', register({ state: 'registering', registeringAt: NOW }), {}],
    ['not two', FINE, { mismatches: 2 }],
    ['not where what changes is announced', FINE, {}, { unannounced: 2 }],
    ['an hour after the last registration', SUSPECT, { registeringAt: ago(59), registeredAt: ago(59) }],
    ['not on hold', record({ error: ON_HOLD }), { onHold: true }],
    ['whatever the takeover', register({}), {}, { takeover: 'never' }],
    ['and do not count as a replacement by others', register(EARLIER), EARLIER],
  ])('have the webhook registered again: %s', (_, verdict, changes, settings) => {
    const stopped = judged(shown(WANTED), { mismatches: 3, ...changes }, { ...SILENT, ...settings });
    expect(stopped).toEqual(verdict);
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

describe('a webhook that is shown', () => {
  const NEVER = { ...BLANK, ownUrls: [] };
  const REFUSED = { registeringAt: ago(61) };
  const NONE_YET = { ...BLANK, url: WANTED } as const;
  const NO_SECRET = { secret: null, registeringAt: ago(5), registeredAt: ago(5) };
  const AT_OLD = { ownUrls: [OLD] };

  it.each<[string, Seen, readonly string[]]>([
    ['nothing', 'none', ['if-empty', 'always']],
    ['one that is switched off', shown(THEIRS, false), ['if-empty', 'always']],
    ['somebody else’s', shown(THEIRS), ['always']],
    ['the URL wanted, registered elsewhere', shown(WANTED), TAKEOVERS],
  ])('to an account without one of ours, being %s, is replaced as configured', (_, seen, replaced) => {
    const taken = TAKEOVERS.filter((takeover) => judged(seen, NEVER, { takeover }).kind === 'register');
    expect(taken).toEqual(replaced);
  });

  it.each<[string, Seen, Stored, object, Settings?]>([
    ['in order', shown(`${WANTED}/`), {}, FINE],
    ['in order, not said to be active', shown(WANTED, null), {}, FINE],
    ['in the service’s spelling', shown(SPELT), { ownUrls: [WANTED, SPELT] }, FINE],
    ['registered by somebody, whose the secret is', shown(WANTED), { url: OLD, ...AT_OLD }, register({})],
    ['refused, not moved', shown(OLD), { ...AT_OLD, ...REFUSED, verifiedAt: ago(3) }, register({ replacedAt: [] })],
    ['refused, nothing signed since', shown(WANTED), REFUSED, register({})],
    ['refused, the last signed before', shown(WANTED), { ...REFUSED, verifiedAt: ago(70) }, register({})],
    ['refused, the last signed just then', shown(WANTED), { ...REFUSED, verifiedAt: ago(61) }, register({})],
    ['refused, the secret still good', shown(WANTED), { ...REFUSED, verifiedAt: ago(60) }, FINE],
    ['refused an hour ago', 'none', { ...NONE_YET, registeringAt: ago(60) }, register({})],
    ['refused within the hour', 'none', { ...NONE_YET, registeringAt: ago(59) }, record({})],
    ['refused at another URL', 'none', { ...NONE_YET, url: OLD, registeringAt: ago(59) }, register({})],
    ['copied without its secret', shown(WANTED), NO_SECRET, register({})],
    ['gone, when it was ours once', 'none', { ...BLANK, state: 'foreign' }, register({}), { takeover: 'never' }],
    ['never ours', 'none', NEVER, record({ state: 'none', error: words('never') }), { takeover: 'never' }],
    ['ours without a public URL', shown(WANTED), {}, record({ state: 'none', error: null }), NO_URL],
    ['another’s without a public URL', shown(THEIRS), {}, record({ state: 'none', error: null }), NO_URL],
  ])('is ours, and is registered again or not: %s', (_, seen, changes, verdict, settings) => {
    expect(judged(seen, changes, settings)).toEqual(verdict);
  });

  it.each<[string, Seen, Stored?]>([
    ['at another URL', shown(OLD), { url: OLD, ...AT_OLD }],
    ['without a secret', shown(WANTED), { secret: null }],
    ['by a request without an answer', shown(WANTED), { state: 'registering' }],
    ['and is gone', 'none'],
  ])('is renewed if it is ours, %s, with any takeover', (_, seen, changes) => {
    const renewed = register({ registeringAt: NOW, url: WANTED });
    for (const takeover of TAKEOVERS) expect(judged(seen, changes, { takeover })).toEqual(renewed);
  });

  it.each<[number, Stored]>([
    [1, {}],
    [1, { state: 'suspect' }],
    [0, { state: 'foreign' }],
    [0, { state: 'registering' }],
    [0, AT_OLD],
  ])('counts as replaced (%i) only if ours was in force: %j', (count, changes) => {
    const replacedAt = Array.from({ length: count }, () => NOW);
    expect(judged(shown(THEIRS), changes, ALWAYS)).toEqual(register({ replacedAt }));
  });

  it('stops registrations if ours is replaced twice within an hour, until a restart an hour later', () => {
    const replaced = (changes: Stored, fresh = false) => judged(shown(THEIRS), changes, { ...ALWAYS, fresh });
    expect(replaced({ replacedAt: [ago(59)] })).toEqual(
      record({ state: 'stopped', replacedAt: [ago(59), NOW], error: STOPPED }),
    );
    expect(replaced({ replacedAt: [ago(61)] })).toEqual(register({ replacedAt: [NOW] }));
    const stopped = { state: 'stopped', replacedAt: [ago(90), ago(61)] } as const;
    expect(replaced(stopped)).toEqual(record({ error: STOPPED }));
    expect(replaced(stopped, true).kind).toBe('register');
    const lately = { state: 'stopped', replacedAt: [ago(59), ago(30)] } as const;
    expect(replaced(lately, true).kind).toBe('record');
    expect(judged(shown(WANTED), lately, ALWAYS)).toMatchObject({ change: { state: 'registered' } });
  });

  it('is told to people only by its host if it is another program’s', () => {
    const step = judged(shown(THEIRS), NEVER);
    expect(step).toMatchObject({ change: { state: 'foreign', error: words('other.example.com') } });
    expect(JSON.stringify(step)).not.toContain('secret-path');
    expect(hostOf('https://u:p@hooks.example.com:8443/T0/secret?token=1')).toBe('hooks.example.com:8443');
    expect(hostOf('secret')).toBe('an address that is not a URL');
  });

  it('is left alone by a copy of the database, also after its release', () => {
    for (const wanted of [undefined, 'https://staging.example.com/webhooks/1001']) {
      const copy = judged(shown(WANTED), { onHold: true }, { wanted, takeover: 'always' });
      expect(copy).toMatchObject(record({ ownUrls: [] }));
      expect(judged(shown(WANTED), { ownUrls: [] }, { wanted }).kind).toBe('record');
    }
    // Restored where it was: ours stays ours, however the service spells it.
    const restored = judged(shown(OLD), { onHold: true, ownUrls: [WANTED, SPELT] });
    expect(restored).toEqual(record({ error: ON_HOLD }));
  });
});

describe('a request that registers', () => {
  const refused = { kind: 'refused', why: '402' } as const;
  const accepted = (seen?: ReturnType<typeof shown>) => ({ kind: 'accepted', secret: 'new', seen }) as const;
  const GOOD = {
    state: 'registered',
    secret: 'new',
    registeringAt: NOW,
    registeredAt: NOW,
    mismatches: 0,
    error: null,
  };
  const UNKNOWN = { registeringAt: NOW, error: words('may not be registered (a reset)') };
  const STATES = ['none', 'registered', 'foreign', 'suspect', 'stopped'] as const;

  it.each<readonly [string, Parameters<typeof afterRequest>[0], Registration['state'], object]>([
    ['accepted: ours in both spellings', accepted(shown(SPELT)), 'registered', { ...GOOD, ownUrls: [WANTED, SPELT] }],
    ['accepted and not shown', accepted(), 'registered', { ...GOOD, ownUrls: [WANTED] }],
    ['lost: it is waited for from now on', { kind: 'lost', why: 'a reset' }, 'registered', UNKNOWN],
    ['refused while one was under way', refused, 'registering', { state: 'none', error: words('refuses') }],
    ...STATES.map(
      (state) =>
        [`refused in state ${state}, which stays`, refused, state, { state, error: words('refuses') }] as const,
    ),
  ])('is stored as %s', (_, answer, before, change) => {
    expect(afterRequest(answer, WANTED, before, NOW)).toEqual(change);
  });
});

it.each([
  [WANTED, WANTED, true],
  [`${WANTED}/`, WANTED, true],
  ['https://Mirror.Example.COM/webhooks/1001', WANTED, true],
  ['HTTPS://mirror.example.com:443/webhooks/1001//', WANTED, true],
  [` ${WANTED} `, WANTED, true],
  ['https://a.example/%C3%BC', 'https://a.example/ü', true],
  ['https://müller.example', 'https://xn--mller-kva.example/', true],
  ['no URL', 'no URL', true],
  ['http://mirror.example.com/webhooks/1001', WANTED, false],
  ['https://mirror.example.com:8443/webhooks/1001', WANTED, false],
  [`${WANTED}0`, WANTED, false],
  ['https://mirror.example.com/Webhooks/1001', WANTED, false],
  [`${WANTED}?a=1`, WANTED, false],
  ['no URL', WANTED, false],
  ['no URL', 'none either', false],
])('sameUrl compares %j with %j: %s', (one, other, same) => {
  expect(sameUrl(one, other)).toBe(same);
});
