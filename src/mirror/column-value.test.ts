import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COLUMN_TYPES, columnValue, integerText, valueKind } from './column-plan.ts';

describe('columnValue', () => {
  it.each([
    ['text', '"a"', 'stored'],
    ['text', '1', 'conflict'],
    ['numeric', '1e400', 'stored'],
    ['numeric', '"1"', 'conflict'],
    ['bigint', '9223372036854775807', 'text'],
    ['bigint', '9223372036854775808', 'conflict'],
    ['bigint', '5.0', 'text'],
    ['bigint', '5.000000000000000000001', 'conflict'],
    ['bigint', '"5"', 'conflict'],
    ['bigint', '1e2', 'text'],
    ['bigint', '1.5e0', 'conflict'],
    ['boolean', 'true', 'stored'],
    ['boolean', '0', 'conflict'],
    ['jsonb', '"scalar"', 'stored'],
    ['timestamptz', '"2026-01-02"', 'text'],
    ['timestamptz', '"soon"', 'conflict'],
    ['timestamptz', '1767322245', 'conflict'],
    ['text', '{"a":1}', 'conflict'],
  ] as const)('puts into a column of type %s the value %s as %s', (type, source, as) => {
    expect(columnValue(type, source).as).toBe(as);
  });

  it('takes null for every type', () => {
    expect(COLUMN_TYPES.map((type) => columnValue(type, 'null').as)).toEqual(
      COLUMN_TYPES.map(() => 'stored'),
    );
  });
});

it('stores an integer as it is only where integerText spells it alike', () => {
  const number = fc.oneof(
    fc.stringMatching(/^-?(0|[1-9][0-9]{0,19})(\.0)?$/),
    fc.constantFrom('-0', '0', '1e2'),
  );
  fc.assert(
    fc.property(number, (source) => {
      if (columnValue('bigint', source).as === 'stored') expect(integerText(source)).toBe(source);
    }),
  );
  expect(columnValue('bigint', '123456789012345678').as).toBe('stored');
});

describe('integerText', () => {
  it('keeps every digit of a 64-bit integer and takes no other number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        const fits = integer >= -(2n ** 63n) && integer < 2n ** 63n;
        expect(integerText(integer.toString())).toBe(fits ? integer.toString() : undefined);
        expect(integerText(`${integer}.5`)).toBeUndefined();
      }),
    );
  });

  it('judges by the value, however it is spelled', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.integer({ min: 0, max: 25 }),
        fc.constantFrom('e', 'E'),
        (integer, places, e) => {
          const [sign, digits] = integer < 0n ? ['-', String(-integer)] : ['', String(integer)];
          const padded = digits.padStart(places + 1, '0');
          const point = padded.length - places;
          const spelled = `${sign}${padded.slice(0, point)}${places === 0 ? '' : `.${padded.slice(point)}`}`;
          expect(integerText(`${spelled}${e}+${places}`)).toBe(String(integer));
          expect(integerText(`${integer}${'0'.repeat(places)}${e}-${places}`)).toBe(String(integer));
          expect(integerText(`${integer}.${'0'.repeat(places + 1)}`)).toBe(String(integer));
        },
      ),
    );
  });

  it('takes a part of an integer for none, and any nothing for 0', () => {
    const nines = '9'.repeat(400);
    for (const source of ['1e-1', '15e-1', '0.1', '1e19', '1e999999999', `1e${nines}`, `1e-${nines}`])
      expect([source, integerText(source)]).toEqual([source, undefined]);
    for (const source of ['0', '-0', '0.000', '0e99', `-0.0e-${nines}`])
      expect([source, integerText(source)]).toEqual([source, '0']);
  });
});

it('valueKind agrees with JSON.parse', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const expected = value === null ? 'null' : typeof value === 'object' ? 'structure' : typeof value;
      expect(valueKind(JSON.stringify(value))).toBe(expected);
    }),
  );
});
