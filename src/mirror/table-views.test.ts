import fc from 'fast-check';
import { expect, it } from 'vitest';
import { COLLECTION_NAMES } from '../model/collections.ts';
import { keyColumns, tableOf } from './table.ts';
import { isOriginalOrder, liveOrder } from './table-views.ts';

const TIME = 'timestamp with time zone';
const OURS = ['_first_seen_at', '_changed_at', '_change_id'];

it('a live view has each column once, the keys first and the mirror’s own last', () => {
  const field = fc.record({
    name: fc.stringMatching(/^[a-z][a-z0-9_]{0,12}$/),
    type: fc.constantFrom('text', 'numeric', 'jsonb', 'boolean', TIME),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...COLLECTION_NAMES),
      fc.uniqueArray(field, { selector: ({ name }) => name, maxLength: 30 }),
      fc.nat(),
      (name, fields, place) => {
        const table = tableOf('mirror', name);
        const keys = keyColumns(table);
        const own = [...keys, ...OURS].map((each) => ({ name: each, type: 'bigint' }));
        const free = fields.filter((each) => !keys.includes(each.name));
        const at = place % (own.length + 1);
        const order = liveOrder(table, [...own.slice(0, at), ...free, ...own.slice(at)]);
        const derived = name === 'list_items' ? ['_key', '_list_key'] : ['_key'];
        expect(order.slice(0, derived.length + keys.length)).toEqual([...derived, ...keys]);
        expect(order.slice(-OURS.length)).toEqual(OURS);
        expect(order.toSorted()).toEqual([...derived, ...[...own, ...free].map((each) => each.name)].toSorted());
      },
    ),
  );
});

const table = tableOf('mirror', 'research_jobs');
it.each([
  [['_key', '_user_id', 'job_id', 'status', ...OURS], true],
  [['_key', '_user_id', 'job_id', 'status', ...OURS, 'created_at', 'score'], true],
  [['_key', '_user_id', 'job_id', 'status', 'created_at', ...OURS, 'score'], false],
])('isOriginalOrder recognises the order of the migrations: %s', (present, expected) => {
  expect(isOriginalOrder(table, present)).toBe(expected);
});
