import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

describe('canonical JSON', () => {
  it('is what Python’s json.dumps writes with sorted keys and no blanks', () => {
    const text = '{"b" : [1, {"z":null,"a":true}], "a": "é😀\\n\\u007f\\"\\\\", "10": 2, "9": 1, "B": {}}';
    expect(canonicalJson(text)).toBe(
      '{"10":2,"9":1,"B":{},"a":"\\u00e9\\ud83d\\ude00\\n\\u007f\\"\\\\","b":[1,{"a":true,"z":null}]}',
    );
  });

  it('keeps the digits of numbers', () => {
    const text = '{"a":9007199254740993,"b":1.50,"c":-0,"d":1e400}';
    expect(canonicalJson(text)).toBe(text);
  });
});
