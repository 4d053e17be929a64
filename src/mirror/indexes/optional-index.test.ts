import { describe, expect, it } from 'vitest';
import { tableOf } from '../table.ts';
import { indexedTables, mayComeLater, optionalIndexes } from './optional-index.ts';

const TIME = 'timestamp with time zone';

describe('optional indexes of a table', () => {
  it('are those of its keys, and of the columns that it has', () => {
    const columns = [
      { name: 'list_id', type: 'bigint' },
      { name: 'status', type: 'text' },
      { name: 'created_at', type: TIME },
      { name: 'completed_at', type: TIME },
      { name: 'added_at', type: 'text' },
      { name: '_changed_at', type: TIME },
      { name: '_domain', type: 'text' },
    ];
    expect(optionalIndexes(tableOf('mirror', 'list_items'), columns).map(({ name }) => name)).toEqual([
      'list_items_by_key',
      'list_items_by_list_key',
      'list_items_by_domain',
      'list_items_by_status',
      'list_items_by_created_at',
      'list_items_by_changed_at',
    ]);
  });

  it('have names that PostgreSQL does not cut', () => {
    const longest = indexedTables('mirror').flatMap((table) =>
      optionalIndexes(table, [{ name: 'registered_time', type: TIME }]),
    );
    for (const { name } of longest) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63);
  });

  it.each([
    ['lists_by_created_at', true],
    ['lists_by_status', true],
    ['research_jobs_by_domain', true],
    ['lists_by_colour', false],
    ['lists_by__domain', false],
    ['account_by_key', false],
    ['lists', false],
  ])('may be asked for before their column is there: %s %s', (name, expected) => {
    expect(mayComeLater('mirror', name)).toBe(expected);
  });
});
