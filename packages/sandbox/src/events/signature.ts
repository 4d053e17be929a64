import { createHmac } from 'node:crypto';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { canonicalJson } from './canonical-json.ts';

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
      return { [header]: hmac(canonicalJson(body), 'hex') };
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
