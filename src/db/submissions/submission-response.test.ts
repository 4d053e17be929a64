import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { storedResponse } from './submission-store.ts';

describe('the response of a submission', () => {
  it('is kept as it was written where it is JSON, digit by digit', () => {
    const body = '{"job_id": 9007199254740993, "x": 1.10}';
    expect(storedResponse(body)).toEqual({ response: body, verbatim: null });
  });

  it.each(['', 'not found', '<html>', '{"job_id": 1', '\uFEFF{}'])(
    'is a JSON string where it is %j',
    (body) => {
      const { response, verbatim } = storedResponse(body);
      expect(JSON.parse(response)).toBe(body);
      expect(verbatim).toBeNull();
    },
  );

  it('keeps aside what jsonb can’t hold, escaped, so that text can', () => {
    expect(storedResponse('{"a":"\\u0000"}')).toEqual({
      response: '{"a":"\\ufffd"}',
      verbatim: '{"a":"\\u0000"}',
    });
    expect(storedResponse('binary \0 \uD800')).toEqual({
      response: '"binary \\ufffd \\ufffd"',
      verbatim: '"binary \\u0000 \\ud800"',
    });
  });

  it('gives every body back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), fc.boolean(), (body, asText) => {
        const { response, verbatim } = storedResponse(body, asText);
        const exact = verbatim ?? response;
        if (exact !== body) expect(JSON.parse(exact)).toBe(body);
        expect(response).not.toMatch(/\\u0000/);
      }),
    );
  });
});
