/**
 * How a delivery may be signed: the specification leaves it open (section 6; `auto`: whatever is seen). Always
 * HMAC-SHA-256, with the registration's secret as text or hex-decoded:
 * - `hex`, `sha256-hex`, `base64`: the raw body; the header is `<hex>`, `sha256=<hex>` or `<base64>`
 * - `timestamped`: `<t>.<body>`; the header is `t=<seconds>,v1=<hex>`, with several `v1` while a secret is rotated
 * - `standard-webhooks`: `<webhook-id>.<webhook-timestamp>.<body>`; `webhook-signature: v1,<base64>`
 * - `canonical-json`: the body's JSON with sorted fields, compact, non-ASCII escaped; the header as for the raw body
 */
export const SIGNATURE_SCHEMES = [
  'auto',
  'hex',
  'sha256-hex',
  'base64',
  'timestamped',
  'standard-webhooks',
  'canonical-json',
] as const;

/** What MIRROR_WEBHOOK_SCHEME says. */
export type SchemeChoice = (typeof SIGNATURE_SCHEMES)[number];

export type Scheme = Exclude<SchemeChoice, 'auto'>;
