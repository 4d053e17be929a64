import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkPayload, repeatedField } from './submit.ts';

it('a payload is passed on as it was given, spaces, digits and spelling', () => {
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
])('a field that stands twice: of %s is %s', (text, field) => {
  expect(repeatedField(text)).toBe(field);
});

it('a field that stands twice is in nothing that JSON.stringify writes, and is found wherever it is put', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(repeatedField(text)).toBeUndefined();
      expect(repeatedField(`{"x":${text},"x":null}`)).toBe('x');
    }),
  );
});
