import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Scrubber } from './scrub.ts';

const KEY = 'sk_live_"ü/+ 9\\f';
const { scrub } = new Scrubber([KEY]);

it.each([
  ['as it is', `key ${KEY}.`],
  ['in JSON', JSON.stringify({ authorization: `Bearer ${KEY}` })],
  ['in JSON inside JSON', JSON.stringify({ body: JSON.stringify({ key: KEY }) })],
  ['as a part of a URL', `https://u:${encodeURIComponent(KEY)}@host/`],
  ['as a form field', new URLSearchParams({ key: KEY }).toString()],
])('hides a secret %s', (_, text) => {
  expect(scrub(text)).toContain('***');
  expect(scrub(text)).not.toContain('live');
});

it('hides a secret within base64, whatever is around it', () => {
  const encodings = fc.constantFrom('base64', 'base64url');
  // At most the bits that share a character with a neighbour may stay.
  const hidden = Math.floor((Buffer.byteLength(KEY) * 8) / 6) - 4;
  fc.assert(
    fc.property(fc.string(), fc.string(), encodings, (before, after, encoding) => {
      const encoded = Buffer.from(before + KEY + after).toString(encoding);
      const left = scrub(encoded);
      expect(left).toContain('***');
      expect(left.length).toBeLessThanOrEqual(encoded.length - hidden);
    }),
  );
});

it.each([
  ['hides the longer of two secrets whole', ['abcd', 'abcdefgh'], 'abcdefgh abcd', '*** ***'],
  ['leaves a text unchanged when a secret is too short', ['', 'a', '123'], '{"pid":123}', '{"pid":123}'],
])('%s', (_, secrets, text, scrubbed) => {
  expect(new Scrubber(secrets).scrub(text)).toBe(scrubbed);
});

it('hides a secret that it learns later', () => {
  const scrubber = new Scrubber();
  expect(scrubber.scrub('late-secret')).toBe('late-secret');
  scrubber.hide('late-secret');
  expect(scrubber.scrub('late-secret')).toBe('***');
});
