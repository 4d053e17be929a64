import { describe, expect, it } from 'vitest';
import { isSigned, presentedSignatures } from './presented.ts';

const HEX = 'ab'.repeat(32);
const BASE64 = Buffer.from(HEX, 'hex').toString('base64');
const HEADER = 'X-Service-Signature';

function own(value: string): Record<string, string> {
  return { 'x-service-signature': value };
}

describe('a delivery', () => {
  it.each([
    ['bare', own(HEX)],
    ['bare, in base64', own(BASE64)],
    ['timestamped', own(`t=1767323045,v1=${HEX}`)],
    [
      'by Standard Webhooks',
      { 'webhook-id': 'm', 'webhook-timestamp': '1767323045', 'webhook-signature': `v1,${BASE64}` },
    ],
  ])('counts as signed: %s', (_, headers) => {
    expect(isSigned(presentedSignatures(headers, HEADER))).toBe(true);
  });

  it.each([
    ['no header', {}],
    ['an empty one', own('')],
    ['another one', { 'x-signature': HEX }],
    ['SHA-1', own('ab'.repeat(20))],
    ['a moment alone', own('t=1767323045')],
    ['a version other than v1', own(`t=1767323045,v0=${HEX}`)],
  ])('counts as unsigned with %s', (_, headers) => {
    expect(isSigned(presentedSignatures(headers, HEADER))).toBe(false);
  });

  it('names its moment in seconds, or in milliseconds from 1e11 on', () => {
    const at = (moment: string): number | undefined =>
      presentedSignatures(own(`t=${moment},v1=${HEX}`), HEADER).timestamped?.signedAt.ms;
    expect(at('99999999999')).toBe(99_999_999_999_000);
    expect(at('100000000000')).toBe(100_000_000_000);
    expect(at('1'.repeat(16))).toBeUndefined();
  });
});
