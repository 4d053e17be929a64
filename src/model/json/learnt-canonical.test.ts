import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalText, fieldSources } from './json-text.ts';
import { LearntCanonical } from './learnt-canonical.ts';

const NAMES = ['id', 'name', 'a"b', 'idea', '', 'é', 'state', '!', String.raw`\n`];
const space = fc.stringMatching(/^[ \n\r\t]{0,2}$/);

/** Fields that come and go, in changing order, some of them twice; values nested, and spelled in many ways. */
const { item } = fc.letrec<{ item: string; value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'value' },
    fc.constantFrom('1', '-0', '1e400', '9007199254740993', 'true', 'null', '"x"', '""', '[]', '{}'),
    fc.constantFrom(
      String.raw`"a\"b"`,
      String.raw`"\\"`,
      String.raw`"a\/b"`,
      String.raw`"\u0041"`,
      '"大阪"',
      '"𝒳é\ud835"',
      '"}],{"',
    ),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 3 }), space)
      .map(([values, gap]) => `[${gap}${values.join(`${gap},${gap}`)}${gap}]`),
    tie('item'),
  ),
  item: fc
    .tuple(fc.array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 5 }), space)
    .map(([members, gap]) => {
      const texts = members.map(([name, value]) => `${JSON.stringify(name)}${gap}:${gap}${value}`);
      return `{${gap}${texts.join(`${gap},${gap}`)}${gap}}`;
    }),
}));

function textOf(learnt: LearntCanonical, source: string): string | undefined {
  const bytes = learnt.of(source);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

it('gives what canonicalText gives, or nothing, whatever items came before', () => {
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 12 }), (items) => {
      const learnt = new LearntCanonical();
      for (const source of [...items, ...items]) {
        // UTF-8 has no lone surrogates; a hash of the text is one of its UTF-8.
        expect([undefined, canonicalText(source).toWellFormed()]).toContain(textOf(learnt, source));
      }
    }),
    { numRuns: 500 },
  );
});

it('cuts out the fields as they were, whatever was put in order', () => {
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 12 }), (items) => {
      const learnt = new LearntCanonical();
      for (const source of [...items, ...items]) {
        if (learnt.of(source) === undefined) continue;
        const fields = learnt.fields();
        const expected = fieldSources(source);
        expect([...fields]).toEqual([...expected]);
        for (const name of [...NAMES, 'none']) expect(fields.get(name)).toBe(expected.get(name));
      }
    }),
    { numRuns: 500 },
  );
});

it('does usual items itself, also those with other fields than the one before', () => {
  const learnt = new LearntCanonical();
  const items = [
    '{"id":1,"at":{"z":1.50,"a":[{"y":1,"x":"\\n"},{"y":2,"x":null}]},"b":"b\\"}"}',
    '{ "id": 2, "at": null, "b": "c" }',
    '{"b":"d","id":3,"at":{"z":1,"a":[]},"new":[1, "two"]}',
    '{}',
  ];
  for (const source of [...items, ...items]) expect(textOf(learnt, source)).toBe(canonicalText(source));
  expect([...learnt.fields()]).toEqual([]);
  learnt.of('{ "b": {"d" : 1, "c":2}, "a":"é" }');
  expect(learnt.fields().get('a')).toBe('"é"');
  learnt.of('{ "b": {"d" : 1, "c":2}, "a":"e" }');
  expect(learnt.fields().get('b')).toBe('{"d" : 1, "c":2}');
});

it('leaves to canonicalText what it can not do', () => {
  const learnt = new LearntCanonical();
  const deep = `{"a":${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}}`;
  for (const source of ['[1]', '{"a":1,"a":2}', '{"a":"\\u0041"}', '{"\\u0041":1}', '{"a":[[1]]}', deep]) {
    expect(learnt.of(source)).toBeUndefined();
  }
});

it('hangs on no text, JSON or not', () => {
  const learnt = new LearntCanonical();
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[{"a:,[\]}1 ]{0,12}$/), { maxLength: 4 }), (texts) => {
      for (const text of texts)
        expect(['string', 'undefined']).toContain(typeof textOf(learnt, `{"a":${text}`));
    }),
  );
});
