import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPage } from '../service/envelope.ts';
import { KnownPages, type Page } from './page.ts';

const item = fc.record(
  {
    id: fc.oneof(fc.integer(), fc.string(), fc.constantFrom(null, 'a\nb', '')),
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

type KeyType = 'text' | 'bigint';

/** Pages, and the texts that had to be read for them. */
function pagesWithin(bytes?: number) {
  const known = new KnownPages(bytes);
  const reads: string[] = [];
  const page = (text: string, keyType: KeyType = 'bigint'): Page =>
    known.read(text, keyType, () => {
      reads.push(text);
      return readPage(text, 'id', keyType);
    });
  return { page, reads };
}

/** Everything that a page can give, including its items' texts. */
function all({ items, hasMore, nextCursor }: Page): unknown {
  const asked = items.map(({ key, problem, source, state }) => ({ key, problem, source, state }));
  return { items: asked, hasMore, nextCursor };
}

it('a known body gives what reading it gives', () => {
  const bodies = fc.array(body, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(bodies, fc.constantFrom<KeyType[]>('text', 'bigint'), (texts, keyType) => {
      const { page } = pagesWithin();
      for (const text of [...texts, ...texts, ...texts]) {
        expect(all(page(text, keyType))).toEqual(all(readPage(text, 'id', keyType)));
      }
    }),
  );
});

it('a known body is read again once, when an item’s text is needed', () => {
  const { page, reads } = pagesWithin();
  const text = '{"data":[{"id":2,"a":1.50},{"id":1}],"has_more":true}';
  page(text);
  const { items } = page(text);
  expect(items.map(({ key }) => key)).toEqual(['2', '1']);
  expect(reads).toHaveLength(1);
  expect(items.map(({ source }) => source)).toEqual(['{"id":2,"a":1.50}', '{"id":1}']);
  expect(reads).toHaveLength(2);
});

it('no body is taken for another one, nor for another kind', () => {
  const { page } = pagesWithin();
  for (const [text, keyType] of [
    ['{"data":[{"id":1}]}', 'bigint'],
    ['{"data":[{"id":2}]}', 'bigint'],
    ['{"data":[{"id":"01"}]}', 'text'],
    ['{"data":[{"id":"01"}]}', 'bigint'],
  ] as const) {
    expect(all(page(text, keyType))).toEqual(all(readPage(text, 'id', keyType)));
  }
});

it('each rule of hashing has its own hashes of a body', () => {
  const { page } = pagesWithin();
  const hashes = (rule: string, digit: string): unknown => {
    let made = 0;
    const make = (): string[] => {
      made += 1;
      return [`${digit}0`.repeat(16), `${digit}1`.repeat(16)];
    };
    return { hashes: page('{"data":[{"id":2},{"id":1}]}').hashes?.(rule, make), made };
  };
  for (const made of [1, 0]) {
    expect(hashes('every', 'a')).toEqual({ hashes: ['a0'.repeat(16), 'a1'.repeat(16)], made });
    expect(hashes('some', 'b')).toEqual({ hashes: ['b0'.repeat(16), 'b1'.repeat(16)], made });
  }
});

it('a page with an item without a usable key has no hashes', () => {
  const { page } = pagesWithin();
  for (let round = 0; round < 2; round += 1) expect(page('{"data":[{"id":2},{}]}').hashes).toBeUndefined();
});

it('the cache keeps the latest bodies within its size', () => {
  const read = (bytes: number, ids: readonly number[]): number[] => {
    const { page, reads } = pagesWithin(bytes);
    for (const id of ids) page(`{"data":[{"id":${id}}]}`).hashes?.('every', () => ['a0'.repeat(16)]);
    return reads.map((text) => Number(/\d+/.exec(text)?.[0]));
  };
  expect(read(1_500, [1, 2, 3, 1, 4, 1, 3, 2])).toEqual([1, 2, 3, 4, 2]);
  expect(read(0, [1, 1])).toEqual([1, 1]);
});
