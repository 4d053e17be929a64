import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Claim } from './claims.ts';

/** A claim that is right. */
export interface Proof {
  readonly secret: string;
  readonly signedAt: number | undefined;
}

/**
 * The claims that are right under some of the secrets: HMAC-SHA-256 of what is signed in front, and the body.
 *
 * The work depends on the form of the headers, which is no secret. Beyond that every secret, key and claim is compared,
 * each in constant time: the time of a refusal says nothing about a right signature.
 */
export function proofsOf(
  claims: readonly Claim[],
  secrets: readonly string[],
  body: Buffer | string,
): Proof[] {
  const proofs: Proof[] = [];
  for (const alike of Map.groupBy(claims, ({ before }) => before).values()) {
    const [{ before, scheme } = { before: '', scheme: 'hex' }] = alike;
    for (const secret of secrets) {
      for (const key of secretKeys(secret, scheme === 'standard-webhooks')) {
        const right = createHmac('sha256', key).update(before).update(body).digest();
        for (const { mac, signedAt } of alike) {
          if (timingSafeEqual(right, mac)) proofs.push({ secret, signedAt });
        }
      }
    }
  }
  return proofs;
}

/**
 * The HMAC keys that a secret may mean: its text, and the bytes that it spells in hex. Specification 2.3 calls it a
 * hex string, and does not say which of the two is the key.
 * @param orBase64 of Standard Webhooks a secret is `whsec_` and the key in base64; the prefix may be missing
 */
export function secretKeys(secret: string, orBase64 = false): Buffer[] {
  // Everybody has the empty key.
  if (secret === '') return [];
  const keys = [Buffer.from(secret)];
  if (/^(?:[0-9a-f]{2})+$/i.test(secret)) keys.push(Buffer.from(secret, 'hex'));
  const base64 = secret.replace(/^whsec_/, '');
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}={0,2}|[A-Za-z0-9+/]{3}=?)?$/.test(base64);
  if (orBase64 && isBase64 && base64 !== '') keys.push(Buffer.from(base64, 'base64'));
  return keys;
}
