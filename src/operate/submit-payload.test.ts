import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkPayload, repeatedField } from './submissions.ts';

it('a payload keeps its spaces, digits and spelling', () => {
  const text = ' {"id": 9007199254740993, "n": 1.50e3, "t": "\\u00e4"} ';
  expect(checkPayload(text)).toBe(text);
});

it.each([
  ['', /--data: is no JSON/],
  ['{"a": 1', /--data: is no JSON/],
  ['[1]', /must be a JSON object/],
  ['null', /must be a JSON object/],
  ['{"a": 1, "b": {"c": 1, "c": 2}}', /the field "c" stands twice/],
])('the payload %s is refused', (text, why) => {
  expect(() => checkPayload(text)).toThrow(why);
});

it.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['[{"x":{}},{"x":{"y":1,"z":[{"y":1}],"y":2}}]', 'y'],
  ['{"a":"b","b":"a","c":["a","a"],"d":{"a":1}}', undefined],
  ['{"a":"{\\"b\\":1,\\"b\\":2}","b":"\\\\"}', undefined],
  ['[{"a":1},{"a":1}]', undefined],
])('the duplicate field of %s is %s', (text, field) => {
  expect(repeatedField(text)).toBe(field);
});

it('a duplicate field is found wherever it is, and never in the output of JSON.stringify', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(repeatedField(text)).toBeUndefined();
      expect(repeatedField(`{"x":${text},"x":null}`)).toBe('x');
    }),
  );
});
