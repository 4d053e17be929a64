import { createHmac } from 'node:crypto';
import { isExactNumber, parseExact } from '../exact-json.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';

/**
 * The headers that authenticate a delivery, in the scheme of the switches (specification 6 shows none). Standard
 * Webhooks (www.standardwebhooks.com) has its own headers, in addition to the specified one.
 * @param wall epoch milliseconds at which it is sent
 */
export function signatureHeaders(
  body: string,
  eventId: string,
  secret: string,
  wall: number,
  options: Pick<SandboxOptions, 'signature' | 'signatureHeader' | 'signatureKey'>,
): Record<string, string> {
  const key = options.signatureKey === 'text' ? secret : Buffer.from(secret, 'hex');
  const hmac = (signed: string, encoding: 'hex' | 'base64'): string =>
    createHmac('sha256', key).update(signed).digest(encoding);
  const header = options.signatureHeader;
  const seconds = String(Math.floor(wall / 1000));
  switch (options.signature) {
    case 'hex':
      return { [header]: hmac(body, 'hex') };
    case 'sha256-hex':
      return { [header]: `sha256=${hmac(body, 'hex')}` };
    case 'base64':
      return { [header]: hmac(body, 'base64') };
    case 'timestamped':
      return { [header]: `t=${seconds},v1=${hmac(`${seconds}.${body}`, 'hex')}` };
    case 'canonical-json':
      return { [header]: hmac(canonicalJson(parseExact(body)), 'hex') };
    case 'standard-webhooks': {
      const signature = `v1,${hmac(`${eventId}.${seconds}.${body}`, 'base64')}`;
      return {
        [header]: signature,
        'webhook-id': eventId,
        'webhook-timestamp': seconds,
        'webhook-signature': signature,
      };
    }
  }
}

/**
 * JSON with keys sorted by code points, without blanks, in ASCII: some services sign this instead of the bytes that
 * they send (Python: `json.dumps(…, sort_keys=True, separators=(',', ':'))`). Numbers keep their spelling.
 * @param value as `parseExact` returns it
 */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return ascii(JSON.stringify(value));
  const members = Object.entries(value).toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${members.map(([name, member]) => `${ascii(JSON.stringify(name))}:${canonicalJson(member)}`).join(',')}}`;
}

/** Escapes what is not printable ASCII, each UTF-16 unit by itself. */
function ascii(json: string): string {
  return json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
