import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { expect, it } from 'vitest';
import { envelope, SECRET, signedHeaders } from '../../test/support/webhooks/signing.ts';
import { type Scheme, SIGNATURE_SCHEMES } from '../config/parse-values.ts';
import { storedSecrets } from '../../test/support/webhooks/receiving-accounts.ts';
import { claimsOf } from './signatures.ts';
import { ACCEPTED_MS, canonicalForms, deliveryJudge, REPLACED_MS } from './judge.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const OTHER = SECRET.toUpperCase();
const BODY = envelope('evt_1');
const VERIFIED = { kind: 'verified', secret: SECRET };
const MISMATCH = { kind: 'mismatch' };
const SCHEMES = SIGNATURE_SCHEMES.filter((scheme): scheme is Scheme => scheme !== 'auto');

type Secrets = Parameters<typeof storedSecrets>[0];
/** Of a delivery that is signed with that secret, at that time. */
function verdict(secrets: Secrets, secret = SECRET, scheme: Scheme = 'hex', at = NOW, choice?: Scheme) {
  const claims = claimsOf(signedHeaders(scheme, secret, BODY, at), 'X-Service-Signature');
  const judge = deliveryJudge(claims, Buffer.from(BODY), choice ?? 'auto', canonicalForms(new VirtualClock()));
  const current = { secret: SECRET, since: new Date(NOW - REPLACED_MS) };
  return judge(storedSecrets({ current, now: new Date(NOW), ...secrets }), NOW);
}

it.each(SCHEMES)('judge accepts %s by default, and it alone if that is configured', (choice) => {
  expect(verdict({}, SECRET, choice)).toEqual(VERIFIED);
  const taken = SCHEMES.filter((scheme) => verdict({}, SECRET, scheme, NOW, choice).kind !== 'mismatch');
  expect(taken).toEqual([choice]);
});

it('judge accepts the previous secret until its time is over', () => {
  const previous = (until: number) => ({ previous: { secret: OTHER, until: new Date(until) } });
  expect(verdict(previous(NOW + 1), OTHER)).toEqual({ kind: 'verified', secret: OTHER });
  expect(verdict(previous(NOW), OTHER)).toEqual(MISMATCH);
});

it.each<Scheme>(['timestamped', 'standard-webhooks'])('judge checks the signed time of %s', (scheme) => {
  for (const sign of [-1, 1]) {
    expect(verdict({}, SECRET, scheme, NOW + sign * ACCEPTED_MS)).toMatchObject({ kind: 'verified' });
    const expired = { kind: 'expired', off: ACCEPTED_MS + 1000 };
    expect(verdict({}, SECRET, scheme, NOW + sign * (ACCEPTED_MS + 1000))).toEqual(expired);
  }
});

it('judge puts off an unexplained signature while another secret may be on its way, and no valid one', () => {
  const since = new Date(NOW - REPLACED_MS + 1);
  expect(verdict({ current: { secret: SECRET, since } }, OTHER)).toMatchObject({ kind: 'undecided' });
  for (const state of ['none', 'registering', 'suspect', 'foreign', 'stopped'] as const) {
    expect(verdict({ state }, OTHER)).toMatchObject({ kind: 'undecided' });
    expect(verdict({ state })).toEqual(VERIFIED);
  }
  expect(verdict({ current: undefined }, OTHER)).toMatchObject({ kind: 'undecided' });
  expect(verdict({}, OTHER)).toEqual(MISMATCH);
});

it('judge takes the age of secrets from the database’s clock', () => {
  for (const skew of [-86_400_000, 86_400_000]) {
    const at = (ms: number): Date => new Date(NOW + skew + ms);
    const secrets = { current: { secret: SECRET, since: at(1 - REPLACED_MS) }, now: at(0) };
    expect(verdict(secrets, 'another')).toMatchObject({ kind: 'undecided' });
    expect(verdict({ ...secrets, now: at(1) }, 'another')).toEqual(MISMATCH);
    const previous = { secret: OTHER, until: at(1) };
    expect(verdict({ ...secrets, previous }, OTHER)).toMatchObject({ kind: 'verified' });
  }
});
