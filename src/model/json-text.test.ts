import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedAnswer } from './errors.ts';
import { canonicalText, fieldSource, fieldSources, refuseRepeatedNames, sliceElements } from './json-text.ts';

/**
 * No field is called by a single backslash here: once V8 (of Node 26.10) has parsed such an object, it takes the
 * escape at the beginning of other objects' names for that name (`{"a":1,"\\":2}`, then `{"a":1,"\u0062":2}`), and
 * JSON.parse is what these tests compare with.
 */
const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes(String.raw`"\\":`));
const fieldName = fc.oneof(
  fc.constantFrom('a', 'b', 'é', 'a"b', String.raw`\\`, '', '__proto__'),
  fc.string().filter((name) => name !== '\\'),
);
const space = fc.stringMatching(/^[ \n\r\t]{0,3}$/);

/** A string literal with some characters spelled as escapes. */
function literal(text: string, escapes: readonly boolean[]): string {
  // JSON.parse of Node 26.10 now and then reads a name of one escaped character as a backslash.
  if (text.length === 1) return JSON.stringify(text);
  const characters = Array.from({ length: text.length }, (_, index) => {
    const code = text.charCodeAt(index);
    return escapes[index % Math.max(1, escapes.length)] === true
      ? `\\u${code.toString(16).padStart(4, '0')}`
      : JSON.stringify(text.charAt(index)).slice(1, -1);
  });
  return `"${characters.join('')}"`;
}

/** Another spelling of a value: other white space, escapes and field order, superseded duplicates. */
function respell(value: unknown, gap: string, escapes: readonly boolean[]): string {
  const inner = (part: unknown): string => respell(part, gap, escapes);
  if (typeof value === 'string') return literal(value, escapes);
  if (Array.isArray(value)) return `[${gap}${value.map(inner).join(`${gap},`)}${gap}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .toReversed()
    .map(([name, member]) => `${literal(name, escapes)}${gap}:${gap}${inner(member)}`);
  const superseded = members.length === 0 ? [] : [(members.at(-1) ?? '').replace(/:[\s\S]*$/, ':[1,{"]":2}]')];
  // A name with a colon in it would be cut in two: such objects go without the duplicate.
  const safe = Object.keys(value).every((name) => !name.includes(':'));
  return `{${gap}${[...(safe ? superseded : []), ...members].join(`,${gap}`)}${gap}}`;
}

describe('sliceElements', () => {
  it('cuts out the texts of exactly the elements that JSON.parse sees, wherever the array lies', () => {
    fc.assert(
      fc.property(fc.array(json), fc.array(fieldName, { maxLength: 3 }), json, space, (elements, path, other, gap) => {
        let text = `[${gap}${elements.map((each) => JSON.stringify(each, null, gap)).join(`${gap},${gap}`)}${gap}]`;
        for (const field of path.toReversed()) {
          const name = JSON.stringify(field);
          text = `{${gap}${JSON.stringify(`${field}x`)}:${JSON.stringify(other)},${name}${gap}:${gap}${text}${gap}}`;
        }
        const slices = sliceElements(gap + text, path);
        expect(slices.map((slice) => JSON.parse(slice) as unknown)).toEqual(JSON.parse(JSON.stringify(elements)));
        expect(slices.every((slice) => slice === slice.trim())).toBe(true);
      }),
    );
  });

  it('keeps every digit and spelling', () => {
    const text = '{"data":[ 9007199254740993 , {"n":1.50e400,"n":-0} ,"\\u0041\\"]"]}';
    expect(sliceElements(text, ['data'])).toEqual(['9007199254740993', '{"n":1.50e400,"n":-0}', '"\\u0041\\"]"']);
  });

  it('refuses a name that occurs twice on the way, in whatever spelling, and no other', () => {
    for (const text of [
      '{"data":[1],"data":[]}',
      String.raw`{"data":[1],"d\u0061ta":[]}`,
      '{"x":1,"data":[],"x":1}',
      '{"data":[],"x":{},"x":{}}',
    ]) {
      expect(() => sliceElements(text, ['data'])).toThrow(/^the name "(data|x)" occurs twice in an object$/);
      expect(() => sliceElements(`{"a":${text}}`, ['a', 'data'])).toThrow(MalformedAnswer);
      expect(() => sliceElements(`{"a":{"data":[]},"a":${text}}`, ['a', 'data'])).toThrow(MalformedAnswer);
      expect(() => refuseRepeatedNames(text)).toThrow(MalformedAnswer);
    }
    const beside = '{"a":{"x":1,"x":2},"Data":[],"data":[{"y":1,"y":2}]}';
    expect(sliceElements(beside, ['data'])).toEqual(['{"y":1,"y":2}']);
    expect(() => refuseRepeatedNames(beside)).not.toThrow();
  });

  it('names the path that has no array', () => {
    expect(() => sliceElements('{"data":{}}', ['data'])).toThrow('no array at /data');
    expect(() => sliceElements('{"a":[]}', ['data', 'rows'])).toThrow('no array at /data/rows');
    expect(() => sliceElements('3', ['data'])).toThrow(RangeError);
    // No JSON, but it ends.
    expect(() => sliceElements('[}', [])).toThrow(RangeError);
    expect(() => sliceElements('{"data":[}', ['data'])).toThrow(RangeError);
  });
});

describe('fieldSource', () => {
  it('answers the field that JSON.parse would', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fieldName, json), { maxLength: 6 }),
        fieldName,
        space,
        fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
        (members, field, gap, escapes) => {
          const text = `{${gap}${members
            .map(([name, value]) => `${literal(name, escapes)}:${gap}${JSON.stringify(value)}`)
            .join(`${gap},`)}${gap}}`;
          const parsed = JSON.parse(text) as Record<string, unknown>;
          const source = fieldSource(text, field);
          const sources = fieldSources(text);
          expect([...sources.keys()].toSorted()).toEqual(Object.keys(parsed).toSorted());
          expect(sources.get(field)).toBe(source);
          expect(source === undefined).toBe(!Object.hasOwn(parsed, field));
          expect(source === undefined ? undefined : JSON.parse(source)).toEqual(
            Object.hasOwn(parsed, field) ? parsed[field] : undefined,
          );
        },
      ),
    );
  });

  it('takes the last of duplicates, with its own digits', () => {
    expect(fieldSource('{"id":1,"\\u0069d":12345678901234567890.10}', 'id')).toBe('12345678901234567890.10');
    expect(fieldSource('[1]', 'id')).toBeUndefined();
  });
});

describe('canonicalText', () => {
  it('is one text for every spelling of a value, and parses to it', () => {
    fc.assert(
      fc.property(json, space, fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }), (value, gap, escapes) => {
        const plain = JSON.stringify(value);
        const spelled = respell(JSON.parse(plain), gap, escapes);
        const canonical = canonicalText(plain);
        expect(JSON.parse(spelled)).toEqual(JSON.parse(plain));
        expect(canonicalText(spelled)).toBe(canonical);
        expect(canonicalText(canonical)).toBe(canonical);
        expect(JSON.parse(canonical)).toEqual(JSON.parse(plain));
      }),
    );
  });

  it('differs for values that differ', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        // Equal printed forms of sorted values are the reference; -0 prints as 0.
        const same = canonicalText(JSON.stringify(a)) === canonicalText(JSON.stringify(b));
        expect(same).toBe(JSON.stringify(sortedFields(a)) === JSON.stringify(sortedFields(b)));
      }),
    );
  });

  it('sorts the last of duplicate names, whatever objects came before', () => {
    const names = fc.array(fc.constantFrom('a', 'b', 'ab', 'a"b', '', '!', 'é', '10', '9'), { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(names, { maxLength: 12 }), (objects) => {
        for (const object of [...objects, ...objects]) {
          const members = object.map((name, index) => [JSON.stringify(name), index] as const);
          const expected = [...new Map(members)]
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map((member) => member.join(':'));
          const text = `{${members.map((member) => member.join(' : ')).join(' , ')}}`;
          expect(canonicalText(text)).toBe(`{${expected.join(',')}}`);
        }
      }),
    );
  });

  it('sorts very many names, and more kinds of objects than its cache has', () => {
    const numbers = Array.from({ length: 2_000 }, (_, index) => `"${String(index).padStart(4, '0')}":${index}`);
    expect(canonicalText(`{${numbers.toReversed().join(',')}}`)).toBe(`{${numbers.join(',')}}`);
    for (const member of [...numbers, ...numbers]) {
      expect(canonicalText(`{"b":1,${member}}`)).toBe(`{${member},"b":1}`);
    }
  });

  it('distinguishes numbers by their digits, not by their double', () => {
    expect(canonicalText('9007199254740993')).not.toBe(canonicalText('9007199254740992'));
    expect(canonicalText('[1e400, -0]')).toBe('[1e400,-0]');
  });

  it('leaves out fields of the top level only, in any spelling', () => {
    const leaveOut = new Set(['seen', 'é']);
    const text = '{"a":{"seen":1},"s\\u0065en":2,"é":3,"seen":4}';
    expect(canonicalText(text, leaveOut)).toBe('{"a":{"seen":1}}');
  });
});

describe('deep nesting', () => {
  const depth = 100_000;
  const deep = `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`;

  it('overflows no stack and stays one value', () => {
    expect(sliceElements(`{"data":[${deep},2]}`, ['data'])).toEqual([deep, '2']);
    expect(fieldSource(`{"x":${deep},"y":3}`, 'y')).toBe('3');
    expect(canonicalText(` ${deep} `)).toBe(deep);
  });
});

function sortedFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedFields);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .map(([name, member]) => [name, sortedFields(member)])
    .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
    .concat([['object']]);
}
