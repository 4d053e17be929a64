/**
 * The HMAC keys that a secret may stand for: its text, and the bytes that it spells in hex (specification 2.3 calls it
 * a hex string, and does not say which of the two is the key).
 */
export function secretKeys(secret: string): Buffer[] {
  // An empty key is one that everybody has.
  if (secret === '') return [];
  const text = Buffer.from(secret);
  return /^(?:[0-9a-f]{2})+$/i.test(secret) ? [text, Buffer.from(secret, 'hex')] : [text];
}

/** Those of the Standard Webhooks scheme, whose secrets are `whsec_` and the key in base64; the prefix may be missing. */
export function standardWebhooksKeys(secret: string): Buffer[] {
  const base64 = secret.replace(/^whsec_/, '');
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}={0,2}|[A-Za-z0-9+/]{3}=?)?$/.test(base64) && base64 !== ''
    ? [...secretKeys(secret), Buffer.from(base64, 'base64')]
    : secretKeys(secret);
}
