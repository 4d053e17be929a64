import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COLUMN_TYPES,
  columnName,
  columnType,
  columnValue,
  integerText,
  MAX_COLUMNS,
  planColumns,
  storableName,
  valueKind,
} from './columns.ts';

it.each([
  ['company_url', 'company_url'],
  ['companyURL', 'company_url'],
  ['HTMLBody', 'html_body'],
  ['score-2 (new)', 'score_2_new'],
  ['Größe', 'größe'],
  ['line2Text', 'line2_text'],
])('columnName gives the field %j the name %s', (field, name) => {
  expect(columnName(field, new Set())).toBe(name);
});

it('columnName adds a suffix, always the same, to a field that can’t be a name', () => {
  for (const field of [...' $ _raw __proto__ order User ctid xmin 2fa'.split(' '), 'é'.repeat(60)]) {
    expect(columnName(field, new Set())).toMatch(/^\p{L}[\p{L}\p{N}_]*_[0-9a-f]{6}$/u);
    expect(columnName(field, new Set(['other']))).toBe(columnName(field, new Set()));
  }
});

it('columnName gives no name twice, none of the mirror’s own, and none that PostgreSQL would truncate', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme' }), { maxLength: 30 }), (fields) => {
      const taken = new Set(['_raw', 'job_id']);
      for (const field of fields) {
        const name = columnName(field, taken);
        expect(taken.has(name)).toBe(false);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
        expect(name.startsWith('_')).toBe(false);
        taken.add(name);
      }
    }),
  );
});

const PLAN = { waiting: [], taken: new Set(['job_id']), drift: 'add' } as const;
const plan = (values: Record<string, readonly string[]>, more: Partial<Parameters<typeof planColumns>[0]> = {}) =>
  planColumns({ values: new Map(Object.entries(values)), ...PLAN, ...more });

describe('columnType', () => {
  it.each([
    ['timestamptz', 'created_at date last_seen valid_until updated'],
    ['text', 'name format candidate at_bats timeline'],
  ])('recognises times by the last words of the name: %s for %s', (type, names) => {
    const others = names.split(' ').filter((name) => columnType(name, ['"2026-01-01T00:00:00Z"']) !== type);
    expect(others).toEqual([]);
  });

  it.each([
    ['name', ['"x"'], 'text'],
    ['created_at', ['"2026-01-02T03:04:05Z"', 'null'], 'timestamptz'],
    ['createdAt', ['"2026-01-02"'], 'timestamptz'],
    ['created_at', ['"2026-01-02"', '"soon"'], 'text'],
    ['label', ['"2026-01-02"'], 'text'],
    ['updated_at', ['1767322245'], 'numeric'],
    ['id', ['1'], 'bigint'],
    ['document_id', ['1', '2'], 'bigint'],
    ['rowCount', ['1'], 'bigint'],
    ['document_id', ['1.5'], 'numeric'],
    ['document_id', ['9223372036854775808'], 'numeric'],
    ['score', ['1'], 'numeric'],
    ['done', ['false'], 'boolean'],
    ['tags', ['[]'], 'jsonb'],
    ['mixed', ['1', '"a"', '"b"'], 'text'],
    ['nothing', ['null'], undefined],
  ] as const)('gives %s with the values %j the type %s', (field, sources, type) => {
    expect(columnType(field, sources)).toBe(type);
  });
});

describe('planColumns', () => {
  it('gives a plain name to the field of that name, in any order of fields', () => {
    const [first, second] = plan({ fooBar: ['1'], foo_bar: ['2'] });
    expect(first).toEqual({ field: 'foo_bar', name: 'foo_bar', type: 'numeric' });
    expect(second?.name).toMatch(/^foo_bar_[0-9a-f]{6}$/);
  });

  it('never takes a name that the table has', () => {
    const names = plan({ job_id: ['1'], jobID: ['1'] }).map(({ name }) => name);
    expect(names).toEqual([1, 2].map(() => expect.stringMatching(/^job_id_[0-9a-f]{6}$/)));
  });

  it('adds no column beyond the limit or with MIRROR_SCHEMA_DRIFT=raw; waiting fields come first', () => {
    const taken = new Set(Array.from({ length: MAX_COLUMNS - 1 }, (_, index) => `c${index}`));
    const waiting = [{ field: 'w', type: 'text' as const }];
    expect(plan({ a: ['1'] }, { taken, waiting }).map(({ field, name }) => [field, name])).toEqual([
      ['w', 'w'],
      ['a', undefined],
    ]);
    expect(plan({ a: ['1'] }, { drift: 'raw' })).toEqual([{ field: 'a', name: undefined, type: 'numeric' }]);
  });

  it('leaves out fields with only nulls, names that text can’t hold, and the character that stands for such in _raw', () => {
    const left = {
      a: ['null'],
      'b\0': ['1'],
      '\ud800': ['1'],
      ['c'.repeat(2000)]: ['1'],
      'a\ufffd': ['true'],
    };
    expect(plan(left)).toEqual([]);
    expect(storableName('ordinary')).toBe(true);
  });
});

describe('columnValue', () => {
  it.each([
    ['text', { stored: ['"a"'], conflict: ['1', '{"a":1}'] }],
    ['numeric', { stored: ['1e400'], conflict: ['"1"'] }],
    [
      'bigint',
      {
        text: ['9223372036854775807', '5.0', '1e2'],
        conflict: ['9223372036854775808', '5.000000000000000000001', '"5"', '1.5e0'],
      },
    ],
    ['boolean', { stored: ['true'], conflict: ['0'] }],
    ['jsonb', { stored: ['"scalar"'] }],
    ['timestamptz', { text: ['"2026-01-02"'], conflict: ['"soon"', '1767322245'] }],
  ] as const)('takes, for a column of type %s, values as %j', (type, values) => {
    for (const [as, sources] of Object.entries<readonly string[]>(values)) {
      expect(sources.filter((source) => columnValue(type, source).as !== as)).toEqual([]);
    }
  });

  it('takes null for every type', () => {
    for (const type of COLUMN_TYPES) expect(columnValue(type, 'null').as).toBe('stored');
  });
});

it('columnValue stores an integer as it is only if integerText spells it alike', () => {
  const number = fc.oneof(fc.stringMatching(/^-?(0|[1-9][0-9]{0,19})(\.0)?$/), fc.constantFrom('-0', '0', '1e2'));
  fc.assert(
    fc.property(number, (source) => {
      if (columnValue('bigint', source).as === 'stored') expect(integerText(source)).toBe(source);
    }),
  );
  expect(columnValue('bigint', '123456789012345678').as).toBe('stored');
});

describe('integerText', () => {
  it('keeps every digit of a 64-bit integer, and refuses other numbers', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        const fits = integer >= -(2n ** 63n) && integer < 2n ** 63n;
        expect(integerText(integer.toString())).toBe(fits ? integer.toString() : undefined);
        expect(integerText(`${integer}.5`)).toBeUndefined();
      }),
    );
  });

  it('depends on the value, not on its spelling', () => {
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

  it('refuses fractions and larger numbers, and spells every zero 0', () => {
    const nines = '9'.repeat(400);
    const others = ['1e-1', '15e-1', '0.1', '1e19', '1e999999999', `1e${nines}`, `1e-${nines}`];
    expect(others.filter((source) => integerText(source) !== undefined)).toEqual([]);
    const zeros = ['0', '-0', '0.000', '0e99', `-0.0e-${nines}`];
    expect(zeros.filter((source) => integerText(source) !== '0')).toEqual([]);
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
