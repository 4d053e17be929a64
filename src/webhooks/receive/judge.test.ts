import { describe, expect, it } from 'vitest';
import { envelope, SECRET, signedHeaders } from '../../../test/support/webhooks/signing.ts';
import { type Scheme, type SchemeChoice, SIGNATURE_SCHEMES } from '../../model/webhook/signature-scheme.ts';
import type { StoredSecrets } from '../../model/webhook/webhook-secrets.ts';
import { presentedSignatures } from '../signature/presented.ts';
import { type Signed, signedBody } from '../signature/verify-signature.ts';
import { ACCEPTED_MS, FRESH_MS, judgeDelivery, REPLACED_MS, type DeliveryVerdict } from './judge.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const OTHER = SECRET.toUpperCase();
const BODY = envelope('evt_1');

interface Case {
  readonly scheme?: Scheme;
  readonly secret?: string;
  readonly at?: number;
  readonly secrets?: StoredSecrets;
  readonly choice?: SchemeChoice;
}

function verdict({
  scheme = 'hex',
  secret = SECRET,
  at = NOW,
  secrets,
  choice = 'auto',
}: Case): DeliveryVerdict {
  const headers = signedHeaders(scheme, secret, BODY, at);
  return judgeDelivery(signed(headers), secrets ?? registered(), choice, NOW);
}

function signed(headers: Record<string, string>): Signed {
  return signedBody(presentedSignatures(headers, 'X-Service-Signature'), Buffer.from(BODY));
}

function registered(scheme?: Scheme, more: Partial<StoredSecrets> = {}): StoredSecrets {
  return {
    current: { secret: SECRET, since: new Date(NOW - REPLACED_MS), scheme },
    previous: undefined,
    state: 'registered',
    now: new Date(NOW),
    ...more,
  };
}

function rotated(until: number, scheme?: Scheme): StoredSecrets {
  return registered('timestamped', { previous: { secret: OTHER, until: new Date(until), scheme } });
}

describe('judge', () => {
  it.each(SIGNATURE_SCHEMES.filter((scheme) => scheme !== 'auto'))(
    'takes %s where nothing is pinned, and pins it',
    (scheme) => {
      expect(verdict({ scheme })).toEqual({
        kind: 'verified',
        proven: { secret: SECRET, pinned: undefined, pin: scheme },
        late: undefined,
      });
    },
  );

  it('goes over to a stronger scheme, and refuses a weaker one', () => {
    expect(verdict({ scheme: 'timestamped', secrets: registered('hex') })).toMatchObject({
      proven: { pinned: 'hex', pin: 'timestamped' },
    });
    expect(verdict({ scheme: 'hex', secrets: registered('timestamped') })).toEqual({ kind: 'mismatch' });
    expect(verdict({ scheme: 'canonical-json', secrets: registered('hex') })).toEqual({ kind: 'mismatch' });
  });

  it('takes no other scheme than the configured one', () => {
    expect(verdict({ scheme: 'timestamped', choice: 'hex' })).toEqual({ kind: 'mismatch' });
    expect(verdict({ scheme: 'hex', choice: 'hex', secrets: registered('timestamped') })).toMatchObject({
      kind: 'verified',
      proven: { pin: 'timestamped' },
    });
  });

  it('takes the previous secret until its time is over, each with a pin of its own', () => {
    const before = { scheme: 'hex', secret: OTHER } as const;
    expect(verdict({ ...before, secrets: rotated(NOW + 1) })).toEqual({
      kind: 'verified',
      proven: { secret: OTHER, pinned: undefined, pin: 'hex' },
      late: undefined,
    });
    expect(verdict({ ...before, secrets: rotated(NOW) })).toEqual({ kind: 'mismatch' });
    expect(verdict({ ...before, secrets: rotated(NOW + 1, 'timestamped') })).toEqual({ kind: 'mismatch' });
  });

  it.each<Scheme>(['timestamped', 'standard-webhooks'])('minds the signed moment of %s', (scheme) => {
    const off = (ms: number): DeliveryVerdict => verdict({ scheme, at: NOW + ms });
    for (const sign of [-1, 1]) {
      expect(off(sign * FRESH_MS)).toMatchObject({ kind: 'verified', late: undefined });
      expect(off(sign * (FRESH_MS + 1000))).toMatchObject({ kind: 'verified', late: FRESH_MS + 1000 });
      expect(off(sign * ACCEPTED_MS)).toMatchObject({ kind: 'verified', late: ACCEPTED_MS });
      expect(off(sign * (ACCEPTED_MS + 1000))).toEqual({ kind: 'expired', off: ACCEPTED_MS + 1000 });
    }
  });

  it('puts off what it can not explain while another secret may be on its way', () => {
    const wrong = { secret: OTHER } as const;
    const since = (ms: number): StoredSecrets =>
      registered(undefined, {
        current: { secret: SECRET, since: new Date(NOW - ms), scheme: undefined },
      });
    expect(verdict(wrong)).toEqual({ kind: 'mismatch' });
    expect(verdict({ ...wrong, secrets: since(REPLACED_MS - 1) })).toMatchObject({ kind: 'undecided' });
    for (const state of ['registering', 'suspect'] as const) {
      expect(verdict({ ...wrong, secrets: registered(undefined, { state }) })).toMatchObject({
        kind: 'undecided',
      });
    }
    for (const state of ['none', 'registered', 'foreign', 'stopped'] as const) {
      const secrets = registered(undefined, { current: undefined, state });
      expect(verdict({ ...wrong, secrets })).toMatchObject({ kind: 'undecided' });
    }
    for (const state of ['none', 'foreign', 'stopped'] as const) {
      expect(verdict({ ...wrong, secrets: registered(undefined, { state }) })).toEqual({ kind: 'mismatch' });
    }
  });

  it('minds the database’s clock alone for the age of secrets', () => {
    const wrong = { secret: 'another' } as const;
    const day = 86_400_000;
    for (const skew of [-day, day]) {
      const now = new Date(NOW + skew);
      const current = { secret: SECRET, since: new Date(now.getTime() - REPLACED_MS + 1), scheme: undefined };
      const secrets = registered(undefined, { current, now });
      expect(verdict({ ...wrong, secrets })).toMatchObject({ kind: 'undecided' });
      expect(verdict({ ...wrong, secrets: { ...secrets, now: new Date(now.getTime() + 1) } })).toEqual({
        kind: 'mismatch',
      });
      const previous = { secret: OTHER, until: new Date(now.getTime() + 1), scheme: undefined };
      expect(verdict({ secret: OTHER, secrets: { ...secrets, previous } })).toMatchObject({
        kind: 'verified',
      });
    }
  });

  it('takes right signatures in every state', () => {
    for (const state of ['none', 'registering', 'foreign', 'suspect', 'stopped'] as const) {
      expect(verdict({ secrets: registered(undefined, { state }) })).toMatchObject({ kind: 'verified' });
    }
  });

  it('never puts off what carries no signature at all', () => {
    const secrets = registered(undefined, { current: undefined, state: 'registering' });
    expect(judgeDelivery(signed({}), secrets, 'auto', NOW)).toEqual({ kind: 'unsigned' });
  });
});
