import { expect, it } from 'vitest';
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
const words = (part: string): string => expect.stringContaining(part) as string;

type Case = [string, Parameters<typeof afterRequest>[0], Partial<Registration>, object];
const refused = { kind: 'refused', why: '402' } as const;
const accepted = (secret: string | undefined) => ({ kind: 'accepted', secret, seen: SEEN }) as const;
const REGISTERED = { registeredAt: NOW, eventTypes: ['list.failed'], addOwnUrls: [URL, SEEN.url] };
const GOOD = { ...REGISTERED, state: 'registered', error: null };
const { state, url, registeringAt, suspectAt, replacedAt } = BEFORE;

it.each<Case>([
  ['accepted: ours in both spellings', accepted('new'), {}, { ...GOOD, accepted: { secret: 'new' } }],
  [
    'accepted without a secret: the known one may be good',
    accepted(undefined),
    {},
    { ...GOOD, accepted: {} },
  ],
  [
    'accepted without a secret, none being known: it is suspect',
    accepted(undefined),
    { secret: null },
    { ...REGISTERED, accepted: {}, state: 'suspect', suspectAt: NOW, error: words('no secret') },
  ],
  [
    'lost: it is waited for from now on, however long it took',
    { kind: 'lost', why: 'a reset' },
    {},
    { registeringAt: NOW, error: words('not known (a reset)') },
  ],
  [
    'refused while another was under way: nothing of ours is known to be there',
    refused,
    { state: 'registering' },
    { state: 'none', error: words('refuses') },
  ],
  [
    'never made: all that was noted for it is as it was',
    { kind: 'undone', why: '429' },
    {},
    { state, url, registeringAt, suspectAt, replacedAt },
  ],
])('what is stored of a request that registers and was %s', (_, answer, before, change) => {
  expect(afterRequest(answer, URL, { ...BEFORE, ...before }, NOW)).toEqual(change);
});

it('one accepted without showing it is for all types, by the URL that was sent', () => {
  const answer = { kind: 'accepted', secret: 'new', seen: undefined } as const;
  const change = afterRequest(answer, URL, BEFORE, NOW);
  expect(change).toMatchObject({ eventTypes: null, addOwnUrls: [URL] });
});

it('what was there before one that was refused, is there still', () => {
  for (const there of ['none', 'registered', 'foreign', 'suspect', 'stopped'] as const) {
    const change = afterRequest(refused, URL, { ...BEFORE, state: there }, NOW);
    expect(change).toEqual({ state: there, error: words('refuses') });
  }
});
