import { describe, expect, it } from 'vitest';
import {
  type Registration,
  type StoredRegistration,
  UNREGISTERED,
} from '../../model/webhook/registration.ts';
import { nextStep } from './next-step.ts';
import type { RegistrationSettings } from './registration-step.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000);
const inMinutes = (minutes: number): Date => ago(-minutes);

const SETTINGS: RegistrationSettings = {
  wanted: 'https://mirror.example.com/webhooks/1001',
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
  secret: 's1',
  registeringAt: ago(600),
  registeredAt: ago(600),
};

function stored(registration: Registration, more: Partial<StoredRegistration> = {}): StoredRegistration {
  return { registration, ownUrls: [], onHold: false, now: NOW, ...more };
}

describe('changes that nothing announced', () => {
  it('are a reason to look, where there are three, three minutes after the last look', () => {
    const checked = { ...REGISTERED, checkedAt: ago(2) };
    const heard = { ...SETTINGS, unannounced: 2 };
    expect(nextStep(stored(checked), heard)).toEqual({ kind: 'wait', until: inMinutes(13) });
    const unheard = { ...SETTINGS, unannounced: 3 };
    expect(nextStep(stored(checked), unheard)).toEqual({ kind: 'wait', until: inMinutes(1) });
    expect(nextStep(stored({ ...checked, checkedAt: ago(3) }), unheard)).toEqual({ kind: 'look' });
    expect(nextStep(stored(checked, { onHold: true }), unheard)).toEqual({
      kind: 'wait',
      until: inMinutes(13),
    });
    const foreign = { ...checked, state: 'foreign' } as const;
    expect(nextStep(stored(foreign), unheard)).toEqual({ kind: 'wait', until: inMinutes(13) });
  });

  it('are counted once a minute, since the last delivery that was right', () => {
    const checked = { ...REGISTERED, checkedAt: ago(2) };
    const due = { ...SETTINGS, countedAt: ago(1) };
    expect(nextStep(stored(checked), due)).toEqual({ kind: 'count', since: ago(598), until: ago(1) });
    const verified = { ...checked, verifiedAt: ago(30) };
    expect(nextStep(stored(verified), due)).toEqual({ kind: 'count', since: ago(30), until: ago(1) });
    for (const none of [
      stored({ ...checked, verifiedAt: ago(0.5) }),
      stored({ ...checked, registeredAt: ago(2.5) }),
      stored({ ...checked, state: 'foreign' }),
    ]) {
      expect(nextStep(none, due).kind).not.toBe('count');
    }
    expect(nextStep(stored(checked), { ...due, wanted: undefined }).kind).toBe('wait');
  });
});
