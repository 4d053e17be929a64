import { createHmac } from 'node:crypto';
import type { Scheme } from '../../../src/model/webhook/signature-scheme.ts';
import type { VerifiedEvent } from '../../../src/model/webhook/verified-event.ts';
import { readEvent } from '../../../src/webhooks/receive/read-event.ts';

/** A secret as the specification describes it: a hex string. */
export const SECRET = '5f2c9a3b8d1e4f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8';

/** The envelope of a delivery (specification 2.4). */
export function envelope(id: string, fields: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    id,
    type: 'research.completed',
    created_at: '2026-01-02T03:04:05Z',
    data: { job_id: 7, document_id: 8, company_url: 'https://example.com/' },
    ...fields,
  });
}

/** The event of a body that is one. */
export function eventOf(body: string | Buffer): VerifiedEvent {
  const event = readEvent(Buffer.from(body));
  if (event === undefined) throw new RangeError('the body is no event');
  return event;
}

/**
 * Headers of a rightly signed delivery. `canonical-json` is for bodies that JSON.stringify prints as they are, with
 * ASCII only.
 * @param at moment of signing, milliseconds since the epoch; of schemes that have one
 */
export function signedHeaders(
  scheme: Scheme,
  secret: string,
  body: string | Buffer,
  at: number,
): Record<string, string> {
  const seconds = Math.floor(at / 1000).toString();
  const hex = mac(secret, body).toString('hex');
  switch (scheme) {
    case 'hex':
      return { 'x-service-signature': hex };
    case 'sha256-hex':
      return { 'x-service-signature': `sha256=${hex}` };
    case 'base64':
      return { 'x-service-signature': mac(secret, body).toString('base64') };
    case 'timestamped':
      return {
        'x-service-signature': `t=${seconds},v1=${mac(secret, `${seconds}.`, body).toString('hex')}`,
      };
    case 'standard-webhooks':
      return {
        'webhook-id': 'msg_1',
        'webhook-timestamp': seconds,
        'webhook-signature': `v1,${mac(secret, `msg_1.${seconds}.`, body).toString('base64')}`,
      };
    case 'canonical-json':
      return { 'x-service-signature': mac(secret, sorted(JSON.parse(String(body)))).toString('hex') };
  }
}

function mac(secret: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
