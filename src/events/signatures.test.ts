import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Scheme } from '../config/parse-values.ts';
import { canonicalJson, claimsOf, isBare, proofsOf, secretKeys } from './signatures.ts';

// Vectors made by Python's hmac, hashlib and json; those of the raw body by `openssl dgst -sha256 -hmac`, too.
const SECRET = '5f2c9a3b8d1e4f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8';
const BODY =
  '{"id":"evt_1","type":"research.completed","created_at":"2026-01-02T03:04:05Z","data":{"job_id":9007199254740993,"document_id":7,"company_url":"https://exämple.com/"}}';
const HEX = '72bd1a57bbf1d38448c7ee951d99f9b01b0758b5d6d104b7dc57269892bf28ad';
const HEX_OF_BYTES = '6462b687f592b4063dc5deff9bacd6724ea27a1cd391d2b47312ebcb0bc1cfb7';
const TIMESTAMPED = '01ddf151aa87e8ad89eeea681991f49714f912cb0998700f75b0e5f3ecbc9374';
const TIMESTAMPED_BYTES = 'bb59756496b1c79e4cf4012b1dbb8e23c1690e91ab1af368566fbbb07f2a471c';
const STANDARD = 'bQ6lbJHb12UKf51MUmcKKKWoIlHzkmRxP526Rjb9aik=';
const V1 = `v1,${STANDARD}`;
const STANDARD_OTHER = STANDARD.replace('b', 'c');
const STANDARD_BYTES = 'QaYAzz/7+MfxfXIMJX8Bwy3uvEXNlCwgV3tSjv5Df3g=';
const CANONICAL = '8198aee12d514c8c2843502210fb1c267dcebca29091fb6865f485a5652bad98';
const CANONICAL_BYTES = 'e8f834627eafa5a09eb189fc040b53a0be4d37e0c279fd83ddedc11d2bf4bc03';
const SHA1 = '4fd3bfbe82a6baf1f4a55eece3db06eda3c5e7ed';

/** A text is that of our own header. */
type Headers = string | Record<string, string>;
const OWN = 'x-service-signature';
const claimed = (headers: Headers) => claimsOf(typeof headers === 'string' ? { [OWN]: headers } : headers, OWN);

/** The forms in which the signature is right. */
function schemes(headers: Headers, body = BODY, secret = SECRET): Scheme[] {
  const claims = claimed(headers);
  const right = claims.filter((claim) => proofsOf([claim], [secret], Buffer.from(body)).length > 0);
  const canonical = proofsOf(claims.filter(isBare), [secret], canonicalJson(body) ?? '').length > 0;
  return [...right.map(({ scheme }) => scheme), ...(canonical ? (['canonical-json'] as const) : [])];
}

const MOMENT = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1767323045' };
const standard = (value: string) => ({ ...MOMENT, 'webhook-signature': value });

describe('a signature is right', () => {
  it.each<[string, Headers, Scheme]>([
    ['hex', HEX, 'hex'],
    ['hex in capitals', HEX.toUpperCase(), 'hex'],
    ['hex, the secret decoded', HEX_OF_BYTES, 'hex'],
    ['hex with a prefix', `sha256=${HEX}`, 'sha256-hex'],
    ['hex with a prefix, the secret decoded', `sha256=${HEX_OF_BYTES}`, 'sha256-hex'],
    ['base64', 'cr0aV7vx04RIx+6VHZn5sBsHWLXW0QS33FcmmJK/KK0=', 'base64'],
    ['base64, the secret decoded', 'ZGK2h/WStAY9xd7/m6zWck6iehzTkdK0cxLrywvBz7c=', 'base64'],
    ['base64 without padding', 'cr0aV7vx04RIx+6VHZn5sBsHWLXW0QS33FcmmJK/KK0', 'base64'],
    ['a moment before the body', `t=1767323045,v1=${TIMESTAMPED}`, 'timestamped'],
    ['the same, spread out', ` v1=${TIMESTAMPED} , t=1767323045`, 'timestamped'],
    ['the same, the secret decoded', `t=1767323045,v1=${TIMESTAMPED_BYTES}`, 'timestamped'],
    ['one of several', `t=1767323045,v1=${HEX},v0=x,v1=${TIMESTAMPED}`, 'timestamped'],
    ['of several headers one', `${HEX_OF_BYTES.replaceAll('6', '7')}, ${HEX}`, 'hex'],
    ['Standard Webhooks', standard(V1), 'standard-webhooks'],
    ['one of several', standard(`v1a,xyz v1,${STANDARD_OTHER} v1,${STANDARD}`), 'standard-webhooks'],
    ['the same in our header', { ...MOMENT, 'x-service-signature': V1 }, 'standard-webhooks'],
    ['the same, the secret decoded', standard(`v1,${STANDARD_BYTES}`), 'standard-webhooks'],
    ['canonical JSON', CANONICAL, 'canonical-json'],
    ['canonical JSON, the secret decoded', `sha256=${CANONICAL_BYTES}`, 'canonical-json'],
  ])('as %s', (_, headers, scheme) => {
    expect(schemes(headers)).toEqual([scheme]);
    expect(schemes(headers, BODY.replace('evt_1', 'evt_2'))).toEqual([]);
    expect(schemes(headers, BODY, SECRET.replace('5f', '5e'))).toEqual([]);
  });

  it('under the key that a whsec_ secret holds, with its prefix or without', () => {
    const headers = standard('v1,N8gELeCa0Y+ysXvqB8xyOZ6U+UYXz8E4ctWnfPCq/9A=');
    for (const secret of ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])
      expect(schemes(headers, BODY, secret)).toEqual(['standard-webhooks']);
  });

  it('in two ways if the body is its own canonical form', () => {
    const hex = '249918607c6367e68d12ca56d3e05c611859d531d8332f1be57f0aef0d4808e4';
    expect(schemes(hex, '{"data":{},"id":"evt_1"}')).toEqual(['hex', 'canonical-json']);
  });
});

describe('a signature is wrong', () => {
  it.each<[string, Headers]>([
    ['SHA-1 with its name', `sha1=${SHA1}`],
    ['a hash with another name', `sha512=${HEX}`],
    ['half of it', HEX.slice(0, 32)],
    ['more than it', `${HEX}00`],
    ['something beside it', `${HEX}, hello`],
    ['a moment that is not signed', `t=1767323045,v1=${HEX}`],
    ['another moment', `t=1767323046,v1=${TIMESTAMPED}`],
    ['two moments', `t=1767323045,t=1767323045,v1=${TIMESTAMPED}`],
    ['a moment that is no number', `t=now,v1=${TIMESTAMPED}`],
    ['Standard Webhooks without ID', { 'webhook-timestamp': '1767323045', 'webhook-signature': V1 }],
    ['Standard Webhooks without moment', { 'webhook-id': 'msg_1', 'webhook-signature': V1 }],
    ['Standard Webhooks of another version', standard(`v1a,${STANDARD}`)],
  ])('that is %s', (_, headers) => {
    expect(schemes(headers)).toEqual([]);
  });

  it('under an empty secret, which everyone knows', () => {
    const hex = 'b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad';
    expect(schemes(hex, '', '')).toEqual([]);
  });
});

it.each<[Headers, number | undefined]>([
  [`t=1767323045,v1=${TIMESTAMPED}`, 1_767_323_045_000],
  [standard(V1), 1_767_323_045_000],
  [HEX, undefined],
])('proves the moment of signing where it is signed: %j', (headers, at) => {
  const proofs = proofsOf(claimed(headers), [SECRET], Buffer.from(BODY));
  expect(proofs.map(({ signedAt }) => signedAt)).toEqual([at]);
});

it('a signature is compared in constant time, under every key, whichever is right', () => {
  const compared = vi.spyOn(crypto, 'timingSafeEqual');
  syncBuiltinESMExports();
  try {
    const rounds = [[HEX], [HEX.replace('7', '8')], [HEX, HEX_OF_BYTES]].map((macs) => {
      compared.mockClear();
      const proofs = proofsOf(claimed(macs.join(', ')), [SECRET, 'another'], Buffer.from(BODY));
      return [proofs.length, compared.mock.calls.length];
    });
    // The first secret means two keys, the second one: three comparisons for each MAC, found or not.
    expect(rounds).toEqual([
      [1, 3],
      [0, 3],
      [2, 6],
    ]);
  } finally {
    compared.mockRestore();
    syncBuiltinESMExports();
  }
});

describe('a header', () => {
  it.each<[string, Headers]>([
    ['no header', {}],
    ['an empty one', ''],
    ['another one', { 'x-signature': HEX }],
    ['SHA-1', SHA1],
    ['a moment alone', 't=1767323045'],
    ['a version other than v1', `t=1767323045,v0=${HEX}`],
  ])('claims nothing with %s', (_, headers) => {
    expect(claimed(headers)).toEqual([]);
  });

  it.each([
    ['99999999999', [99_999_999_999_000]],
    ['100000000000', [100_000_000_000]],
    ['1'.repeat(16), []],
  ])('names its moment in seconds, or in milliseconds from 1e11 on: %s', (moment, at) => {
    expect(claimed(`t=${moment},v1=${HEX}`).map(({ signedAt }) => signedAt)).toEqual(at);
  });
});

const hexes = (keys: readonly Buffer[]): string[] => keys.map((key) => key.toString('hex'));

describe('the keys of a secret', () => {
  it('are its text, and the bytes that it spells in hex', () => {
    expect(hexes(secretKeys('00ff'))).toEqual([Buffer.from('00ff').toString('hex'), '00ff']);
  });

  it('are none for an empty secret', () => {
    expect([secretKeys(''), secretKeys('', true)]).toEqual([[], []]);
    expect(hexes(secretKeys('whsec_', true))).not.toContain('');
  });

  // Buffer.from(text, 'hex') stops at the first character that is none: `secret` would be the empty key.
  it.each(['secret', 'abc', '00fx', '0', 'ff ff', 'ff\n', 'ffé'])('are the text alone for %j', (secret) => {
    expect(secretKeys(secret)).toEqual([Buffer.from(secret)]);
  });

  it.each(['!!', 'a', 'ab cd', 'whsec_!', 'whsec_a'])('hold no base64 for %j, which is none', (secret) => {
    expect(secretKeys(secret, true)).toEqual(secretKeys(secret));
  });

  it('are never empty or shorter than half of the secret: those could be guessed', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (secret) => {
        for (const key of [...secretKeys(secret), ...secretKeys(`whsec_${secret}`, true)]) {
          expect(key.length).toBeGreaterThanOrEqual(secret.replaceAll('=', '').length / 2);
        }
      }),
    );
  });
});

// Right sides as printed by Python: json.dumps(json.loads(t), sort_keys=True, separators=(",", ":"),
// ensure_ascii=True).
it.each([
  [
    String.raw` { "b" : [1.5, 0, true ,null, "\/\u00e9\u007f\ud83d\ude00\b\u0001\"\\" ] , "a":{} , "a" : [] } `,
    String.raw`{"a":[],"b":[1.5,0,true,null,"/\u00e9\u007f\ud83d\ude00\b\u0001\"\\"]}`,
  ],
  [
    String.raw`{"\uffff":1,"\ud83d\ude00":2,"z":3,"Z":4,"":5,"aa":6,"a":7,"a ":8,"a\"":9}`,
    String.raw`{"":5,"Z":4,"a":7,"a ":8,"a\"":9,"aa":6,"z":3,"\uffff":1,"\ud83d\ude00":2}`,
  ],
  [
    String.raw`{"\ud83d\udfff":1,"\ud83d\ude00":2,"\ue000":4}`,
    String.raw`{"\ue000":4,"\ud83d\ude00":2,"\ud83d\udfff":1}`,
  ],
  ['{"é":"é😀"}', String.raw`{"\u00e9":"\u00e9\ud83d\ude00"}`],
  [String.raw`"\ud800"`, String.raw`"\ud800"`],
  ['[ ]', '[]'],
  [' { } ', '{}'],
  ['12345678901234567890123', '12345678901234567890123'],
  [String.raw`{"n":{"y":[{"b":1,"a":2}],"x":"\t\r\n\f"}}`, String.raw`{"n":{"x":"\t\r\n\f","y":[{"a":2,"b":1}]}}`],
  // Unlike Python, it keeps the text of numbers.
  ['[1.0, 1E5, -0, 9007199254740993]', '[1.0,1E5,-0,9007199254740993]'],
  [
    String.raw`{"n1":"s","s\"":"n-1 \"2\" ","__proto__":"3","10":1,"9":2}`,
    String.raw`{"10":1,"9":2,"__proto__":"3","n1":"s","s\"":"n-1 \"2\" "}`,
  ],
])('canonicalJson prints %j as Python does', (text, canonical) => {
  expect(canonicalJson(text)).toBe(canonical);
});

it('canonicalJson gives nothing for text that is not JSON', () => {
  for (const text of ['', 'hello', '{"a":1', '[1,]', '{"a":1}x', '[01]', '[1.]', '[+1]'])
    expect([text, canonicalJson(text)]).toEqual([text, undefined]);
});

it('canonicalJson gives nothing for text that is nested too deeply', () => {
  expect(canonicalJson('['.repeat(500) + ']'.repeat(500))).toBe('['.repeat(500) + ']'.repeat(500));
  expect(canonicalJson(`[${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)},2]`)).toBeUndefined();
});

it('canonicalJson prints the same value in ASCII for every spelling, and its own output unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), fc.nat(4), (value, indent) => {
      const canonical = canonicalJson(JSON.stringify(value, undefined, indent)) ?? '';
      // -0 is printed as 0 by JSON.stringify.
      expect(JSON.parse(canonical)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonical).toMatch(/^[ -~]*$/);
      expect(canonicalJson(canonical)).toBe(canonical);
    }),
  );
});
