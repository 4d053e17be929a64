import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Scrubber } from './scrub.ts';

const KEY = 'sk_live_"ü/+ 9\\f';

describe('Scrubber', () => {
  const { scrub } = new Scrubber([KEY]);

  it.each([
    ['as it is', `key ${KEY}.`],
    ['in JSON', JSON.stringify({ authorization: `Bearer ${KEY}` })],
    ['in JSON inside JSON', JSON.stringify({ body: JSON.stringify({ key: KEY }) })],
    ['as a part of a URL', `https://u:${encodeURIComponent(KEY)}@host/`],
    ['as a form field', new URLSearchParams({ key: KEY }).toString()],
  ])('hides a secret %s', (_, text) => {
    const scrubbed = scrub(text);
    expect(scrubbed).toContain('***');
    expect(scrubbed).not.toContain('live');
  });

  it('hides a secret within base64, whatever is around it', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        fc.constantFrom('base64', 'base64url'),
        (before, after, encoding) => {
          const encoded = Buffer.from(before + KEY + after).toString(encoding);
          const left = scrub(encoded);
          expect(left).toContain('***');
          // At most the bits that share a character with a neighbour may stay.
          expect(left.length).toBeLessThanOrEqual(
            encoded.length - Math.floor((Buffer.byteLength(KEY) * 8) / 6) + 4,
          );
        },
      ),
    );
  });

  it('hides the longer of two secrets whole', () => {
    expect(new Scrubber(['abcd', 'abcdefgh']).scrub('abcdefgh abcd')).toBe('*** ***');
  });

  it('hides a secret that it learns later', () => {
    const scrubber = new Scrubber();
    const { scrub } = scrubber;
    expect(scrub('late-secret')).toBe('late-secret');
    scrubber.hide('late-secret');
    expect(scrub('late-secret')).toBe('***');
  });

  it('leaves a text unchanged when a secret is too short', () => {
    expect(new Scrubber(['', 'a', '123']).scrub('{"pid":123}')).toBe('{"pid":123}');
  });
});
