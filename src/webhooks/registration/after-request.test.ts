import { describe, expect, it } from 'vitest';
import { type Registration, type SeenWebhook, UNREGISTERED } from '../../model/webhook/registration.ts';
import { afterRequest } from './after-request.ts';

const URL = 'https://mirror.example.com/webhooks/1001';
const NOW = new Date('2026-05-01T12:00:00Z');
const EARLIER = new Date('2026-05-01T11:00:00Z');
const BEFORE: Registration = {
  ...UNREGISTERED,
  state: 'registered',
  url: 'https://old.example.com/webhooks/1001',
  secret: 'known',
  registeringAt: EARLIER,
  registeredAt: EARLIER,
  replacedAt: [EARLIER],
  suspectAt: EARLIER,
};
const SEEN: SeenWebhook = {
  url: `${URL}?via=hooks`,
  active: true,
  eventTypes: ['list.failed'],
  source: '{}',
};

describe('what is stored of a request that registers', () => {
  it('that was accepted: ours in both spellings, with the types that the answer showed', () => {
    expect(afterRequest({ kind: 'accepted', secret: 'new', seen: SEEN }, URL, BEFORE, NOW)).toEqual({
      accepted: { secret: 'new' },
      state: 'registered',
      eventTypes: ['list.failed'],
      registeredAt: NOW,
      addOwnUrls: [URL, SEEN.url],
      error: null,
    });
  });

  it('that was accepted without showing it: for all types, by the URL that was sent', () => {
    expect(
      afterRequest({ kind: 'accepted', secret: 'new', seen: undefined }, URL, BEFORE, NOW),
    ).toMatchObject({ eventTypes: null, addOwnUrls: [URL] });
  });

  it('that was accepted without a secret: the one that is known may be good still; with none, it is suspect', () => {
    const answer = { kind: 'accepted', secret: undefined, seen: SEEN } as const;
    expect(afterRequest(answer, URL, BEFORE, NOW)).toMatchObject({
      accepted: { secret: undefined },
      state: 'registered',
      error: null,
    });
    expect(afterRequest(answer, URL, BEFORE, NOW)).not.toHaveProperty('suspectAt');
    expect(afterRequest(answer, URL, { ...BEFORE, secret: null }, NOW)).toMatchObject({
      state: 'suspect',
      suspectAt: NOW,
      error: expect.stringContaining('no secret') as string,
    });
  });

  it('whose answer was lost: it is waited for from now on, however long it took', () => {
    expect(afterRequest({ kind: 'lost', why: 'a reset' }, URL, BEFORE, NOW)).toEqual({
      registeringAt: NOW,
      error: expect.stringContaining('not known (a reset)') as string,
    });
  });

  it.each(['none', 'registered', 'foreign', 'suspect', 'stopped'] as const)(
    'that was refused: what was there before it, is there still (%s)',
    (state) => {
      const change = afterRequest({ kind: 'refused', why: '402' }, URL, { ...BEFORE, state }, NOW);
      expect(change).toEqual({ state, error: expect.stringContaining('refuses') as string });
    },
  );

  it('that was refused, and had been under way before: nothing of ours is known to be there', () => {
    const change = afterRequest(
      { kind: 'refused', why: '402' },
      URL,
      { ...BEFORE, state: 'registering' },
      NOW,
    );
    expect(change.state).toBe('none');
  });

  it('that was never made: all that was noted for it is as it was', () => {
    const { state, url, registeringAt, suspectAt, replacedAt } = BEFORE;
    expect(afterRequest({ kind: 'undone', why: '429' }, URL, BEFORE, NOW)).toEqual({
      state,
      url,
      registeringAt,
      suspectAt,
      replacedAt,
    });
  });
});
