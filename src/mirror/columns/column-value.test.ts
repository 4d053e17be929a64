import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COLUMN_TYPES, columnValue, integerText, valueKind } from './column-value.ts';

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
});

describe('valueKind', () => {
  it('agrees with JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const expected = value === null ? 'null' : typeof value === 'object' ? 'structure' : typeof value;
        expect(valueKind(JSON.stringify(value))).toBe(expected);
      }),
    );
  });
});
