import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonbText } from './jsonb-text.ts';

describe('jsonbText', () => {
  it('replaces U+0000 and lone surrogates, and keeps the verbatim text aside', () => {
    const source = String.raw`{"a\u0000":"\ud83d\ude00 \uD83D x \ude00"}`;
    expect(jsonbText(source)).toEqual({
      raw: String.raw`{"a\ufffd":"\ud83d\ude00 \ufffd x \ufffd"}`,
      verbatim: source,
    });
  });

  it('leaves an escaped backslash before u0000 alone', () => {
    const source = String.raw`"\\u0000 \\\\ud800"`;
    expect(jsonbText(source)).toEqual({ raw: source, verbatim: undefined });
    expect(jsonbText(String.raw`"\\\u0000"`).raw).toBe(String.raw`"\\\ufffd"`);
  });

  it('gives well-formed text without U+0000 for any string, changing nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u', '0000', '"', 'é')),
        (parts) => {
          const text = parts.join('');
          // JSON.stringify escapes U+0000 and lone surrogates, and no pair.
          const { raw, verbatim } = jsonbText(JSON.stringify(text));
          expect(JSON.parse(raw)).toBe(text.toWellFormed().replaceAll('\0', '\ufffd'));
          expect(verbatim).toBe(raw === JSON.stringify(text) ? undefined : JSON.stringify(text));
        },
      ),
    );
  });
});
