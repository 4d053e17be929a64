import { describe, expect, it } from 'vitest';
import { signatureHeaders } from './signature.ts';

// Computed with OpenSSL: printf '%s' … | openssl dgst -sha256 -hmac KEY (or -mac HMAC -macopt hexkey:KEY).
const BODY = '{"id":"evt_1","type":"research.completed","data":{"name":"é"}}';
const SECRET = '00112233445566778899aabbccddeeff';
const WALL = 1_700_000_000_999;

function signed(signature: Parameters<typeof signatureHeaders>[4]['signature'], more = {}) {
  const options = { signature, signatureHeader: 'X-Sig', signatureKey: 'text', ...more } as const;
  return signatureHeaders(BODY, 'evt_1', SECRET, WALL, options);
}

describe('the signature of a delivery', () => {
  it('is the HMAC of the bytes that are sent: hexadecimal, with a prefix, in base64', () => {
    expect(signed('hex')).toEqual({
      'X-Sig': '35e5821687ae65179bab3c0173dd83a32cd9f82d93cd312026616497d3c896d8',
    });
    expect(signed('sha256-hex')).toEqual({
      'X-Sig': 'sha256=35e5821687ae65179bab3c0173dd83a32cd9f82d93cd312026616497d3c896d8',
    });
    expect(signed('base64')).toEqual({
      'X-Sig': Buffer.from(
        '35e5821687ae65179bab3c0173dd83a32cd9f82d93cd312026616497d3c896d8',
        'hex',
      ).toString('base64'),
    });
  });

  it('takes the secret as text, or the bytes of its digits', () => {
    expect(signed('hex', { signatureKey: 'hex-decoded' })).toEqual({
      'X-Sig': 'dc7dad559701648452f8a6f4a9c55cbedbdd3824b9468f8f5ae6b008e15f28e8',
    });
  });

  it('covers the time of sending, in seconds, where the scheme has one', () => {
    expect(signed('timestamped')).toEqual({
      'X-Sig': 't=1700000000,v1=86fe91fad31dd683c30b86a357205df4fea52b78526395ea94ddc607255c7c21',
    });
  });

  it('covers the message’s ID with Standard Webhooks, in the standard’s headers and in the specified one', () => {
    const value = `v1,${Buffer.from('f558b990046785192469201955a61cf1809538aa9742e98d44e3e4702beab18c', 'hex').toString('base64')}`;
    expect(signed('standard-webhooks')).toEqual({
      'X-Sig': value,
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1700000000',
      'webhook-signature': value,
    });
  });

  it('covers the canonical form instead of the bytes', () => {
    expect(signed('canonical-json')).toEqual({
      'X-Sig': '07b49a96e1031d746cac1b2db675bb40f120768367771e91f4ef8e883f8f863d',
    });
  });
});
