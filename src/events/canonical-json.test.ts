import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson } from './signatures.ts';

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
  [
    String.raw`{"n":{"y":[{"b":1,"a":2}],"x":"\t\r\n\f"}}`,
    String.raw`{"n":{"x":"\t\r\n\f","y":[{"a":2,"b":1}]}}`,
  ],
])('canonicalJson prints %j as Python does', (text, canonical) => {
  expect(canonicalJson(text)).toBe(canonical);
});

it('canonicalJson keeps the text of numbers', () => {
  expect(canonicalJson('[1.0, 1E5, -0, 9007199254740993]')).toBe('[1.0,1E5,-0,9007199254740993]');
});

it('canonicalJson keeps text that looks like numbers, letters or names of Object', () => {
  const text = String.raw`{"n1":"s","s\"":"n-1 \"2\" ","__proto__":"3","10":1,"9":2}`;
  expect(canonicalJson(text)).toBe(String.raw`{"10":1,"9":2,"__proto__":"3","n1":"s","s\"":"n-1 \"2\" "}`);
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
