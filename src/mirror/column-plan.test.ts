import { describe, expect, it } from 'vitest';
import { columnType, MAX_COLUMNS, planColumns, storableName } from './column-plan.ts';

const plan = (
  values: Record<string, readonly string[]>,
  more: Partial<Parameters<typeof planColumns>[0]> = {},
) =>
  planColumns({
    values: new Map(Object.entries(values)),
    waiting: [],
    taken: new Set(['job_id']),
    drift: 'add',
    ...more,
  });

it('columnType recognises time by the last words of the name', () => {
  for (const name of ['created_at', 'date', 'last_seen', 'valid_until', 'updated']) {
    expect([name, columnType(name, ['"2026-01-01T00:00:00Z"'])]).toEqual([name, 'timestamptz']);
  }
  for (const name of ['name', 'format', 'candidate', 'at_bats', 'timeline']) {
    expect([name, columnType(name, ['"2026-01-01T00:00:00Z"'])]).toEqual([name, 'text']);
  }
});

describe('columnType', () => {
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
  ] as const)('of %s with %j is %s', (field, sources, type) => {
    expect(columnType(field, sources)).toBe(type);
  });
});

describe('planColumns', () => {
  it('gives the plain name to the field that has it, whatever the order', () => {
    const [first, second] = plan({ fooBar: ['1'], foo_bar: ['2'] });
    expect(first).toEqual({ field: 'foo_bar', name: 'foo_bar', type: 'numeric' });
    expect(second?.name).toMatch(/^foo_bar_[0-9a-f]{6}$/);
  });

  it('never takes a name that the table has', () => {
    expect(plan({ job_id: ['1'], jobID: ['1'] }).map(({ name }) => name)).toEqual([
      expect.stringMatching(/^job_id_[0-9a-f]{6}$/),
      expect.stringMatching(/^job_id_[0-9a-f]{6}$/),
    ]);
  });

  it('gives no column beyond the limit or when drift is raw, waiting fields first', () => {
    const taken = new Set(Array.from({ length: MAX_COLUMNS - 1 }, (_, index) => `c${index}`));
    const waiting = [{ field: 'w', type: 'text' as const }];
    expect(plan({ a: ['1'] }, { taken, waiting }).map(({ field, name }) => [field, name])).toEqual([
      ['w', 'w'],
      ['a', undefined],
    ]);
    expect(plan({ a: ['1'] }, { drift: 'raw' })).toEqual([{ field: 'a', name: undefined, type: 'numeric' }]);
  });

  it('leaves out fields that had only nulls, and names that text can’t hold', () => {
    expect(plan({ a: ['null'], 'b\0': ['1'], '\ud800': ['1'], ['c'.repeat(2000)]: ['1'] })).toEqual([]);
    expect(storableName('ordinary')).toBe(true);
  });

  it('leaves out names with the character that stands in _raw for what jsonb can’t hold', () => {
    expect(plan({ 'a\ufffd': ['true'] })).toEqual([]);
  });
});
