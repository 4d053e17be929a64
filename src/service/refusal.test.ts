import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quote, serviceMessage } from './envelope.ts';

describe('the message in a body', () => {
  it.each([
    ['{"error":{"code":"bad_key","message":"Invalid API key"}}', 'Invalid API key (bad_key)'],
    ['{"error":{"code":"bad_key"}}', 'bad_key'],
    ['{"error":"Invalid API key"}', 'Invalid API key'],
    ['{"detail":"Not found."}', 'Not found.'],
    [
      '{"detail":[{"loc":["query","limit"],"msg":"too large"},{"loc":["query","x"],"msg":"unknown"}]}',
      'query.limit: too large; query.x: unknown',
    ],
    ['{"detail":[{"loc":[{"toString":1},null,3],"msg":"x"}]}', '3: x'],
    ['{"detail":[{"loc":[{"toString":1,"valueOf":1}],"msg":"x"}]}', 'x'],
    ['{"message":"no","status":404}', 'no'],
    ['{"errors":[{"title":"A"},{"title":"B"}]}', 'A; B'],
    ['["a","b"]', 'a; b'],
    ['{"detail":{"error":{"message":"deep"}}}', 'deep'],
    ['{"x":1}', ''],
    ['null', ''],
    ['', ''],
    ['upstream timed out', 'upstream timed out'],
    ['<html><head><title>502 Bad Gateway</title></head><body>secret</body></html>', '502 Bad Gateway'],
    ['<html><body>secret</body></html>', ''],
  ])('%s is %j', (body, message) => {
    expect(serviceMessage(body)).toBe(message);
  });

  it('is a string for any body', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
        expect(serviceMessage(body)).toBeTypeOf('string');
      }),
    );
  });
});

describe('a quote of the service', () => {
  const key = 'sk_live_0123456789';
  const scrub = (text: string) => text.replaceAll(key, '***');

  it('is one short line without control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (words) => {
        const line = quote(words, scrub);
        expect(line.length).toBeLessThanOrEqual(200);
        expect(line).not.toMatch(/[\p{C}\n]/u);
      }),
      { numRuns: 30 },
    );
    expect(quote('\u001b[31mred\u001b[0m\r\n  text', scrub)).toBe('[31mred [0m text');
  });

  it('shows no part of a key, wherever the cut falls', () => {
    for (let before = 170; before < 201; before += 1) {
      expect(quote(`${'x'.repeat(before)}${key} is wrong`, scrub)).not.toContain('sk_');
    }
  });
});
