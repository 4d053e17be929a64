import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { secretKeys, standardWebhooksKeys } from './secret-keys.ts';

const hexes = (keys: readonly Buffer[]): string[] => keys.map((key) => key.toString('hex'));

describe('the keys of a secret', () => {
  it('are its text, and the bytes that it spells in hex', () => {
    expect(hexes(secretKeys('00ff'))).toEqual([Buffer.from('00ff').toString('hex'), '00ff']);
  });

  it('are none for an empty secret', () => {
    expect(secretKeys('')).toEqual([]);
    expect(standardWebhooksKeys('')).toEqual([]);
    expect(hexes(standardWebhooksKeys('whsec_'))).not.toContain('');
  });

  // Buffer.from(text, 'hex') stops at the first character that is none: `secret` would be the empty key.
  it.each(['secret', 'abc', '00fx', '0', 'ff ff', 'ff\n', 'ffé'])('are the text alone for %j', (secret) => {
    expect(secretKeys(secret)).toEqual([Buffer.from(secret)]);
  });

  it.each(['!!', 'a', 'ab cd', 'whsec_!', 'whsec_a'])('hold no base64 for %j, which is none', (secret) => {
    expect(standardWebhooksKeys(secret)).toEqual(secretKeys(secret));
  });

  it('are never empty or shorter than half of the secret: those could be guessed', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (secret) => {
        for (const key of [...secretKeys(secret), ...standardWebhooksKeys(`whsec_${secret}`)]) {
          expect(key.length).toBeGreaterThanOrEqual(secret.replaceAll('=', '').length / 2);
        }
      }),
    );
  });
});
