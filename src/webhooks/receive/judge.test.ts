import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { describe, expect, it } from 'vitest';
import { envelope, SECRET, signedHeaders } from '../../../test/support/webhooks/signing.ts';
import { type Scheme, type SchemeChoice, SIGNATURE_SCHEMES } from '../../model/webhook/signature-scheme.ts';
import type { StoredSecrets } from '../../model/webhook/webhook-secrets.ts';
import { claimsOf } from '../signature/claims.ts';
import { ACCEPTED_MS, CanonicalForms, deliveryJudge, type DeliveryVerdict, REPLACED_MS } from './judge.ts';

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
  const claims = claimsOf(signedHeaders(scheme, secret, BODY, at), 'X-Service-Signature');
  const judge = deliveryJudge(claims, Buffer.from(BODY), choice, new CanonicalForms(new VirtualClock()));
  return judge(secrets ?? registered(), NOW);
}

function registered(more: Partial<StoredSecrets> = {}): StoredSecrets {
  return {
    current: { secret: SECRET, since: new Date(NOW - REPLACED_MS) },
    previous: undefined,
    state: 'registered',
    now: new Date(NOW),
    ...more,
  };
}

function rotated(until: number): StoredSecrets {
  return registered({ previous: { secret: OTHER, until: new Date(until) } });
}

describe('judge', () => {
  const SCHEMES = SIGNATURE_SCHEMES.filter((scheme): scheme is Scheme => scheme !== 'auto');

  it.each(SCHEMES)('takes %s where nothing else is configured', (scheme) => {
    expect(verdict({ scheme })).toEqual({ kind: 'verified', secret: SECRET });
  });

  it.each(SCHEMES)('takes no other scheme than %s where that is configured', (choice) => {
    for (const scheme of SCHEMES) {
      expect([scheme, verdict({ scheme, choice }).kind]).toEqual([
        scheme,
        scheme === choice ? 'verified' : 'mismatch',
      ]);
    }
  });

  it('takes the previous secret until its time is over', () => {
    const before = { scheme: 'hex', secret: OTHER } as const;
    expect(verdict({ ...before, secrets: rotated(NOW + 1) })).toEqual({ kind: 'verified', secret: OTHER });
    expect(verdict({ ...before, secrets: rotated(NOW) })).toEqual({ kind: 'mismatch' });
  });

  it.each<Scheme>(['timestamped', 'standard-webhooks'])('minds the signed moment of %s', (scheme) => {
    const off = (ms: number): DeliveryVerdict => verdict({ scheme, at: NOW + ms });
    for (const sign of [-1, 1]) {
      expect(off(sign * ACCEPTED_MS)).toMatchObject({ kind: 'verified' });
      expect(off(sign * (ACCEPTED_MS + 1000))).toEqual({ kind: 'expired', off: ACCEPTED_MS + 1000 });
    }
  });

  it('puts off what it can not explain while another secret may be on its way', () => {
    const wrong = { secret: OTHER } as const;
    const since = (ms: number): StoredSecrets =>
      registered({
        current: { secret: SECRET, since: new Date(NOW - ms) },
      });
    expect(verdict(wrong)).toEqual({ kind: 'mismatch' });
    expect(verdict({ ...wrong, secrets: since(REPLACED_MS - 1) })).toMatchObject({ kind: 'undecided' });
    for (const state of ['registering', 'suspect'] as const) {
      expect(verdict({ ...wrong, secrets: registered({ state }) })).toMatchObject({
        kind: 'undecided',
      });
    }
    for (const state of ['none', 'registered', 'foreign', 'stopped'] as const) {
      const secrets = registered({ current: undefined, state });
      expect(verdict({ ...wrong, secrets })).toMatchObject({ kind: 'undecided' });
    }
    for (const state of ['none', 'foreign', 'stopped'] as const) {
      expect(verdict({ ...wrong, secrets: registered({ state }) })).toEqual({ kind: 'mismatch' });
    }
  });

  it('minds the database’s clock alone for the age of secrets', () => {
    const wrong = { secret: 'another' } as const;
    const day = 86_400_000;
    for (const skew of [-day, day]) {
      const now = new Date(NOW + skew);
      const current = { secret: SECRET, since: new Date(now.getTime() - REPLACED_MS + 1) };
      const secrets = registered({ current, now });
      expect(verdict({ ...wrong, secrets })).toMatchObject({ kind: 'undecided' });
      expect(verdict({ ...wrong, secrets: { ...secrets, now: new Date(now.getTime() + 1) } })).toEqual({
        kind: 'mismatch',
      });
      const previous = { secret: OTHER, until: new Date(now.getTime() + 1) };
      expect(verdict({ secret: OTHER, secrets: { ...secrets, previous } })).toMatchObject({
        kind: 'verified',
      });
    }
  });

  it('takes right signatures in every state', () => {
    for (const state of ['none', 'registering', 'foreign', 'suspect', 'stopped'] as const) {
      expect(verdict({ secrets: registered({ state }) })).toMatchObject({ kind: 'verified' });
    }
  });
});
