import { describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../model/webhook/event-types.ts';
import {
  type Registration,
  type Seen,
  type SeenWebhook,
  type StoredRegistration,
  UNREGISTERED,
} from '../../model/webhook/registration.ts';
import { deliversAll, judgeSeen } from './judge-seen.ts';
import { nextStep } from './next-step.ts';
import { NO_SECRET, STOPPED } from './remedies.ts';
import type { RegistrationSettings, RegistrationVerdict } from './registration-step.ts';

const WANTED = 'https://mirror.example.com/webhooks/1001';
const OLD = 'https://old.example.com/webhooks/1001';
const THEIRS = 'https://other.example.com/T0/secret-path';
const NOW = new Date('2026-05-01T12:00:00Z');
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000);
const inMinutes = (minutes: number): Date => ago(-minutes);
const own = (url: string, minutes = 600) => ({ url, registeredAt: ago(minutes) });

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

/** What differs of a registration that is in order, or of what is stored beside it. */
type Stored = Partial<Registration & StoredRegistration>;

function stored(changes: Stored = {}): StoredRegistration {
  const { ownUrls = [own(WANTED)], onHold = false } = changes;
  return { registration: { ...REGISTERED, ...changes }, ownUrls, onHold, now: NOW };
}

/** What is done next: `look`, minutes to wait, minutes ago between which is counted, or what is stored. */
function next(changes: Stored = {}, settings: Partial<RegistrationSettings> = {}) {
  const step = nextStep(stored(changes), { ...SETTINGS, ...settings });
  const minutes = (at: Date): number => Math.abs(at.getTime() - NOW.getTime()) / 60_000;
  if (step.kind === 'record') return step.change;
  if (step.kind === 'look') return 'look';
  if (step.kind === 'wait') return `wait ${minutes(step.until)}`;
  return `${step.kind} ${minutes(step.since)}..${minutes(step.until)}`;
}

function shown(url: string, more: Partial<SeenWebhook> = {}): SeenWebhook {
  return { url, active: true, eventTypes: null, source: '{}', ...more };
}

function judged(
  seen: Seen,
  changes: Stored = {},
  settings: Partial<RegistrationSettings> = {},
): RegistrationVerdict {
  return judgeSeen(stored(changes), seen, { ...SETTINGS, ...settings });
}

const record = (change: object) => ({ kind: 'record', change });
const register = (change: object) => ({ kind: 'register', change });

type Case = [string, string, Stored, Partial<RegistrationSettings>?];

describe('the service is asked what is registered', () => {
  const REGISTERING = { state: 'registering', registeringAt: ago(0.5) } as const;
  const SUSPECT = { state: 'suspect', mismatches: 3, checkedAt: ago(5) } as const;
  const YOUNG = { registeredAt: ago(1.5), registeringAt: ago(1.5), checkedAt: ago(1) };
  const NO_URL = { wanted: undefined };

  it.each<Case>([
    ['at the start', 'look', UNREGISTERED],
    ['every 15 minutes', 'look', {}],
    ['no sooner', 'wait 10', { checkedAt: ago(5) }],
    ['at the start of a process', 'look', { checkedAt: ago(5) }, { fresh: true }],
    ['two minutes after a registration', 'wait 1', { registeredAt: ago(1), checkedAt: ago(1.5) }],
    ['where no URL is set: the row is to be true', 'look', { ...UNREGISTERED, checkedAt: ago(15) }, NO_URL],
    ['no sooner then', 'wait 1', { ...UNREGISTERED, checkedAt: ago(14) }, NO_URL],
    ['a minute after a request, whoever sent it', 'wait 0.5', REGISTERING, { fresh: true }],
    ['that is over', 'look', { ...REGISTERING, registeringAt: ago(1) }],
    ['later where answers were lost', 'wait 3.5', REGISTERING, { lost: 3 }],
    ['at last after 15 minutes', 'wait 14.5', REGISTERING, { lost: 20 }],
    ['at once after one that was answered', 'look', { registeringAt: ago(0.5) }, { fresh: true }],
    ['after a clock was set back', 'look', { ...REGISTERING, registeringAt: inMinutes(2) }],
    ['after a clock was set back since the last look', 'look', { checkedAt: inMinutes(2) }],
    ['not at half a minute', 'wait 1.5', { ...REGISTERING, registeringAt: inMinutes(0.5) }],
    ['while suspect, where it was registered lately', 'wait 10', { ...SUSPECT, suspectAt: ago(10) }],
    ['while suspect, an hour after that', 'wait 5', { ...SUSPECT, suspectAt: ago(55) }],
    ['in turn, of what is not ours', 'wait 14', { ...YOUNG, state: 'foreign' }],
    ['in turn, where none is wanted', 'wait 14', { ...YOUNG, state: 'registering' }, NO_URL],
    ['out of turn, where an answer is not known', 'look', { ...YOUNG, state: 'registering' }],
    ['in turn after two unannounced changes', 'wait 13', { checkedAt: ago(2) }, { unannounced: 2 }],
    ['three minutes after the last, after three', 'wait 1', { checkedAt: ago(2) }, { unannounced: 3 }],
    ['which are over', 'look', { checkedAt: ago(3) }, { unannounced: 3 }],
    ['in turn on hold', 'wait 13', { checkedAt: ago(2), onHold: true }, { unannounced: 3 }],
    ['in turn of what is not ours', 'wait 13', { checkedAt: ago(2), state: 'foreign' }, { unannounced: 3 }],
  ])('%s: %s', (_, expected, changes, settings) => {
    expect(next(changes, settings)).toBe(expected);
  });

  it('never more than once a minute', () => {
    for (const state of ['none', 'registering', 'registered', 'foreign', 'suspect', 'stopped'] as const) {
      expect(next({ state, checkedAt: ago(0.5), mismatches: 3, suspectAt: ago(100) })).not.toBe('look');
    }
  });
});

describe('changes that nothing announced are counted', () => {
  const DUE = { countedAt: ago(1) };

  it.each<Case>([
    ['once a minute, since it shows', 'count 598..1', {}],
    ['since the last delivery that was right', 'count 30..1', { verifiedAt: ago(30) }],
    ['not where that came just now', 'wait 13', { verifiedAt: ago(0.5) }],
    ['not where it may not show yet', 'look', { registeredAt: ago(2.5) }],
    ['not of what is not ours', 'wait 13', { state: 'foreign' }],
    ['not where none is wanted', 'wait 13', {}, { wanted: undefined }],
  ])('%s: %s', (_, expected, changes, settings) => {
    expect(next({ checkedAt: ago(2), ...changes }, { ...DUE, ...settings })).toBe(expected);
  });
});

describe('signatures that stopped matching', () => {
  const MISTRUSTED = { mismatches: 3, verifiedAt: ago(11), checkedAt: ago(1) };

  it.each<Case>([
    ['three, ten minutes after the last success', 'weigh 11..10', {}],
    ['without any success', 'weigh 600..10', { verifiedAt: null }],
    ['since the registration', 'weigh 10.5..10', { registeredAt: ago(10.5) }],
    ['not before', 'wait 14', { registeredAt: ago(9) }],
    ['not two', 'wait 14', { mismatches: 2 }],
    ['not after a success lately', 'wait 14', { verifiedAt: ago(9) }],
    ['not where none is wanted: whoever signs, it is removed', 'wait 14', {}, { wanted: undefined }],
    ['every five minutes', 'weigh 11..10', {}, { weighedAt: ago(5) }],
    ['no sooner', 'wait 14', {}, { weighedAt: ago(4.9) }],
  ])('have it weighed what changed, %s: %s', (_, expected, changes, settings) => {
    expect(next({ ...MISTRUSTED, ...changes }, settings)).toBe(expected);
  });

  it('need no weighing where no secret is known at all', () => {
    expect(next({ secret: null })).toEqual({ state: 'suspect', error: NO_SECRET });
  });

  it('are followed by another registration, and that by the next an hour later', () => {
    const suspect = { ...MISTRUSTED, state: 'suspect' } as const;
    expect(judged(shown(WANTED), suspect)).toMatchObject(register({ state: 'registering', suspectAt: NOW }));
    expect(judged(shown(WANTED), { ...suspect, suspectAt: ago(59) })).toEqual(record({}));
  });

  it('are forgotten when one matches', () => {
    const again = next({ ...MISTRUSTED, state: 'suspect', mismatches: 0, verifiedAt: NOW });
    expect(again).toEqual({ state: 'registered', error: null });
  });
});

describe('what is shown', () => {
  const NEVER = { ...UNREGISTERED, ownUrls: [] };
  const ALWAYS = { takeover: 'always' } as const;
  const FINE = record({ state: 'registered', error: null });

  it('is left as it is where it is ours', () => {
    expect(judged(shown(`${WANTED}/`))).toEqual(FINE);
    expect(judged(shown(WANTED, { active: null, eventTypes: ['*'] }))).toEqual(FINE);
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
    const foreign = { ...UNREGISTERED, state: 'foreign' } as const;
    expect(judged('none', foreign, { takeover: 'never' }).kind).toBe('register');
    expect(judged('none', { ...foreign, ownUrls: [] }, { takeover: 'never' })).toMatchObject(
      record({ state: 'none', error: expect.stringContaining('never') as string }),
    );
  });

  const AT_OLD = { ownUrls: [own(OLD)] };
  const REFUSED = { registeringAt: ago(61) };
  const NOT_MOVED = { ...AT_OLD, ...REFUSED, verifiedAt: ago(3) };
  const NONE_YET = { ...UNREGISTERED, url: WANTED } as const;
  const MOVED_BACK = { ownUrls: [own(OLD, 700), own(WANTED)] };

  it.each<[string, Seen, Stored, object]>([
    ['moved back by somebody', shown(OLD), MOVED_BACK, register({ replacedAt: [NOW] })],
    ['registered by somebody, whose the secret is', shown(WANTED), { url: OLD, ...AT_OLD }, register({})],
    ['refused, and not moved', shown(OLD), NOT_MOVED, register({ replacedAt: [] })],
    ['refused, nothing signed since', shown(WANTED), REFUSED, register({})],
    ['refused, the last signed before', shown(WANTED), { ...REFUSED, verifiedAt: ago(70) }, register({})],
    ['refused, the last signed just then', shown(WANTED), { ...REFUSED, verifiedAt: ago(61) }, register({})],
    ['refused, the secret still good', shown(WANTED), { ...REFUSED, verifiedAt: ago(60) }, FINE],
    ['refused an hour ago', 'none', { ...NONE_YET, registeringAt: ago(60) }, register({})],
    ['refused within the hour', 'none', { ...NONE_YET, registeringAt: ago(59) }, record({})],
    ['refused at another URL', 'none', { ...NONE_YET, url: OLD, registeringAt: ago(59) }, register({})],
  ])('is ours, and to be registered again or not: %s', (_, seen, changes, verdict) => {
    expect(judged(seen, changes)).toMatchObject(verdict);
  });

  it.each<[number, Stored]>([
    [1, {}],
    [1, { state: 'suspect' }],
    [0, { state: 'foreign' }],
    [0, { state: 'registering' }],
    [0, { state: 'suspect', secret: null }],
    [0, AT_OLD],
  ])('counts as replaced (%i) only where it was in force: %j', (count, changes) => {
    const replacedAt = Array.from({ length: count }, () => NOW);
    expect(judged(shown(THEIRS), changes, ALWAYS)).toMatchObject(register({ replacedAt }));
  });

  it('names the host and nothing else of somebody’s URL', () => {
    const step = judged(shown(THEIRS), NEVER);
    expect(step).toMatchObject({ change: { state: 'foreign' } });
    expect(JSON.stringify(step)).toContain('other.example.com');
    expect(JSON.stringify(step)).not.toContain('secret-path');
  });

  it.each<[string, Seen, Stored?]>([
    ['at another URL', shown(OLD), { url: OLD, ...AT_OLD }],
    ['for other types', shown(WANTED, { eventTypes: ['list.failed'] })],
    ['without a secret', shown(WANTED), { secret: null }],
    ['by a request without an answer', shown(WANTED), { state: 'registering' }],
    ['and is gone', 'none'],
  ])('is renewed where it is ours, %s, whatever the takeover', (_, seen, changes) => {
    for (const takeover of ['never', 'if-empty', 'always'] as const) {
      const renewed = { ...register({ registeringAt: NOW }), url: WANTED };
      expect(judged(seen, changes, { takeover })).toMatchObject(renewed);
    }
  });

  it('proves nothing for two minutes after a registration: it may not show yet', () => {
    const young = { registeringAt: ago(1.9), registeredAt: ago(1.9) };
    expect(judged('none', young)).toEqual(record({}));
    expect(judged(shown(THEIRS), young, ALWAYS)).toEqual(record({}));
    // It may show something else where another request was sent since, whose answer is not known.
    expect(judged('none', { ...young, state: 'registering', registeringAt: ago(1.1) }).kind).toBe('register');
  });

  it('stops all registering where ours is replaced twice within an hour, until a restart an hour later', () => {
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

  it('is removed where it is ours and no public URL is set any more', () => {
    const off = { wanted: undefined };
    expect(judged(shown(WANTED), {}, off)).toEqual({ kind: 'remove', change: {} });
    expect(judged(shown(THEIRS), {}, off)).toEqual(record({ state: 'none', error: null }));
  });

  it('is left alone by a copy of the database, also after its release: the original’s is not its own', () => {
    for (const wanted of [undefined, 'https://staging.example.com/webhooks/1001']) {
      const copy = judged(shown(WANTED), { onHold: true }, { wanted, ...ALWAYS });
      expect(copy).toMatchObject(record({ keepOwnUrls: [] }));
      expect(judged(shown(WANTED), { ownUrls: [] }, { wanted }).kind).toBe('record');
    }
    // Restored where it was: ours stays ours.
    const restored = judged(shown(WANTED, { eventTypes: [] }), { onHold: true });
    expect(restored.kind).toBe('record');
    expect(restored).not.toHaveProperty('change.keepOwnUrls');
    for (const minutes of [600, 650]) {
      const ownUrls = [own(OLD, 700), own(WANTED, minutes)];
      const kept = judged(shown(WANTED), { onHold: true, ownUrls });
      expect(kept).toMatchObject({ change: { keepOwnUrls: [WANTED] } });
    }
    // However the service spells it.
    const ownUrls = [own(WANTED), own(`${WANTED}?via=hooks`)];
    const again = judged(shown(WANTED), { onHold: true, ownUrls });
    expect(again).not.toHaveProperty('change.keepOwnUrls');
  });

  it('is seen to at once after a release', () => {
    const onHold = { error: 'x', checkedAt: ago(2) };
    const step = judged(shown(WANTED, { eventTypes: [] }), { ...onHold, onHold: true });
    const error = step.kind === 'record' ? (step.change.error ?? '') : '';
    expect(error).toContain('submissions release');
    expect(next({ ...onHold, error })).toBe('look');
    expect(next({ ...onHold, error, onHold: true })).toMatch(/^wait/);
  });
});

it.each<[boolean, string, readonly string[], (readonly string[] | null)?]>([
  [true, 'all, by one of them', ['list.failed', '*']],
  [true, 'all, by one of them in a word', ['all']],
  [true, 'every known one', [...EVENT_TYPES, 'something.new']],
  [true, 'those that the registration was answered with', ['a', 'b'], ['b', 'a']],
  [true, 'none, like the registration’s answer', [], []],
  [false, 'none', []],
  [false, 'all but one', EVENT_TYPES.slice(1)],
  [false, 'fewer than the registration’s answer', ['a'], ['a', 'b']],
  [false, 'more than the registration’s answer, and not all', ['a', 'b'], ['a']],
])(
  'a webhook delivers all that was registered (%s) where its types are %s',
  (all, _, seen, answered = null) => {
    expect(deliversAll(seen, answered)).toBe(all);
  },
);

it('a webhook that shows no types delivers all', () => {
  expect(deliversAll(null, null)).toBe(true);
});
