import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPage } from '../../api/envelope.ts';
import { KnownPages } from './known-pages.ts';
import type { Page } from '../page.ts';

const item = fc.record(
  {
    id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.constant('a\nb'), fc.constant('')),
    value: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: [] },
);
const body = fc
  .record(
    {
      data: fc.array(item, { maxLength: 4 }),
      has_more: fc.boolean(),
      next_cursor: fc.oneof(fc.string(), fc.constant(null), fc.integer()),
    },
    { requiredKeys: ['data'] },
  )
  .map((value) => JSON.stringify(value));

/** All that anybody can ask a page, items' texts included. */
function all({ items, hasMore, nextCursor }: Page): unknown {
  const asked = items.map(({ key, problem, source, state }) => ({ key, problem, source, state }));
  return { items: asked, hasMore, nextCursor };
}

it('says of a body what reading it says, whether it came before or not', () => {
  fc.assert(
    fc.property(
      fc.array(body, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('text' as const, 'bigint' as const),
      (bodies, keyType) => {
        const known = new KnownPages();
        const read = (text: string): Page => readPage(text, 'id', keyType);
        for (const text of [...bodies, ...bodies, ...bodies]) {
          expect(all(known.read(text, keyType, read))).toEqual(all(read(text)));
        }
      },
    ),
  );
});

it('reads a body that comes again when an item is asked for its text, once', () => {
  const known = new KnownPages();
  let reads = 0;
  const read = (text: string): Page => {
    reads += 1;
    return readPage(text, 'id', 'bigint');
  };
  const text = '{"data":[{"id":2,"a":1.50},{"id":1}],"has_more":true}';
  known.read(text, 'bigint', read);
  const { items } = known.read(text, 'bigint', read);
  expect(items.map(({ key }) => key)).toEqual(['2', '1']);
  expect(reads).toBe(1);
  expect(items.map(({ source }) => source)).toEqual(['{"id":2,"a":1.50}', '{"id":1}']);
  expect(reads).toBe(2);
});

it('takes no body for another, nor one kind of items for another', () => {
  const known = new KnownPages();
  const keysOf = (text: string, keyType: 'text' | 'bigint'): unknown =>
    known.read(text, keyType, () => readPage(text, 'id', keyType)).items.map(({ key }) => key);
  expect(keysOf('{"data":[{"id":1}]}', 'bigint')).toEqual(['1']);
  expect(keysOf('{"data":[{"id":2}]}', 'bigint')).toEqual(['2']);
  expect(keysOf('{"data":[{"id":"01"}]}', 'text')).toEqual(['01']);
  expect(keysOf('{"data":[{"id":"01"}]}', 'bigint')).toEqual(
    readPage('{"data":[{"id":"01"}]}', 'id', 'bigint').items.map(({ key }) => key),
  );
});
