import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPage } from '../api/envelope.ts';
import { KnownPages } from './known-pages.ts';
import type { Page } from './page.ts';

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

it('knows the hashes of a body by each rule apart', () => {
  const known = new KnownPages();
  const text = '{"data":[{"id":2},{"id":1}]}';
  const hashes = (rule: string, digit: string): unknown => {
    let made = 0;
    const make = (): string[] => {
      made += 1;
      return [`${digit}0`.repeat(16), `${digit}1`.repeat(16)];
    };
    const page = known.read(text, 'bigint', () => readPage(text, 'id', 'bigint'));
    return { hashes: page.hashes?.(rule, make), made };
  };
  for (const made of [1, 0]) {
    expect(hashes('every', 'a')).toEqual({ hashes: ['a0'.repeat(16), 'a1'.repeat(16)], made });
    expect(hashes('some', 'b')).toEqual({ hashes: ['b0'.repeat(16), 'b1'.repeat(16)], made });
  }
});

it('has no hashes of a page with an item that has no usable key', () => {
  const text = '{"data":[{"id":2},{}]}';
  const known = new KnownPages();
  for (let round = 0; round < 2; round += 1) {
    expect(known.read(text, 'bigint', () => readPage(text, 'id', 'bigint')).hashes).toBeUndefined();
  }
});

it('keeps what came last, within its bytes', () => {
  let read: number[] = [];
  const known = new KnownPages(1_500);
  const ask = (id: number): void => {
    const text = `{"data":[{"id":${id}}]}`;
    const page = known.read(text, 'bigint', () => {
      read.push(id);
      return readPage(text, 'id', 'bigint');
    });
    page.hashes?.('every', () => ['a0'.repeat(16)]);
  };
  for (const id of [1, 2, 3, 1, 4, 1, 3]) ask(id);
  expect(read).toEqual([1, 2, 3, 4]);
  ask(2);
  expect(read).toEqual([1, 2, 3, 4, 2]);
  read = [];
  const none = new KnownPages(0);
  const text = '{"data":[]}';
  for (let round = 0; round < 2; round += 1) {
    const page = none.read(text, 'bigint', () => {
      read.push(0);
      return readPage(text, 'id', 'bigint');
    });
    expect(page.hashes?.('every', () => [])).toEqual([]);
  }
  expect(read).toEqual([0, 0]);
});
