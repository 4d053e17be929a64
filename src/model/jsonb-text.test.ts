import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonbNumber, jsonbText, storedBody } from './values.ts';

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
      fc.property(fc.array(fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u', '0000', '"', 'é')), (parts) => {
        const text = parts.join('');
        // JSON.stringify escapes U+0000 and lone surrogates, and no pair.
        const { raw, verbatim } = jsonbText(JSON.stringify(text));
        expect(JSON.parse(raw)).toBe(text.toWellFormed().replaceAll('\0', '\ufffd'));
        expect(verbatim).toBe(raw === JSON.stringify(text) ? undefined : JSON.stringify(text));
      }),
    );
  });
});

describe('a stored body', () => {
  it('keeps JSON as it was written, digit by digit', () => {
    const body = '{"job_id": 9007199254740993, "x": 1.10}';
    expect(storedBody(body)).toEqual({ raw: body, verbatim: null });
  });

  it('has other text as a JSON string', () => {
    for (const body of ['', 'not found', '<html>', '{"job_id": 1', '\uFEFF{}'])
      expect(storedBody(body)).toEqual({ raw: JSON.stringify(body), verbatim: null });
  });

  it('keeps the exact text, escaped, if jsonb can’t hold it', () => {
    expect(storedBody('{"a":"\\u0000"}')).toEqual({
      raw: '{"a":"\\ufffd"}',
      verbatim: '{"a":"\\u0000"}',
    });
    expect(storedBody('binary \0 \uD800')).toEqual({
      raw: '"binary \\ufffd \\ufffd"',
      verbatim: '"binary \\u0000 \\ud800"',
    });
  });

  it('gives every body back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), fc.boolean(), (body, asText) => {
        const { raw, verbatim } = storedBody(body, ...(asText ? [false] : []));
        const exact = verbatim ?? raw;
        if (exact !== body) expect(JSON.parse(exact)).toBe(body);
        expect(raw).not.toMatch(/\\u0000/);
      }),
    );
  });
});

// What Postgres itself says of numbers: test/integration/mirror/page/rehash.test.ts.
it.each([
  ['12', '12'],
  ['-0', '0'],
  ['-0.00', '0.00'],
  ['1.50', '1.50'],
  ['1e2', '100'],
  ['1.5E+1', '15'],
  ['1.50e1', '15.0'],
  ['125e-2', '1.25'],
  ['-1e-3', '-0.001'],
  ['0e5', '0'],
  ['0e-2', '0.00'],
  ['1.5e-1', '0.15'],
  ['1e400000', '1e400000'],
])('a number as jsonb prints it %s is %s', (source, printed) => {
  expect(jsonbNumber(source)).toBe(printed);
});
