import { signatureHeaders } from '@research-mirror/sandbox/events/signature';
import type { Scheme } from '../../../src/config/parse-values.ts';
import { readEvent, type VerifiedEvent } from '../../../src/events/read-event.ts';

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
 * Headers of a rightly signed delivery, as the emulated service makes them.
 * @param at moment of signing, milliseconds since the epoch; of schemes that have one
 */
export function signedHeaders(signature: Scheme, secret: string, body: string, at: number) {
  const options = { signature, signatureHeader: 'x-service-signature', signatureKey: 'text' } as const;
  return signatureHeaders(body, 'msg_1', secret, at, options);
}
