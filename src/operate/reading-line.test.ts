import { expect, it } from 'vitest';
import type { PassProgress } from '../account/pass.ts';
import { readingLine } from './sync.ts';

const nothing = { pages: 1, items: 0, inserted: 0, updated: 0, deleted: 0, doubts: null };
const watchlist = { ...nothing, userId: '7', collection: 'watchlist', items: 120, inserted: 3 } as const;
const lists = { ...nothing, userId: '7', collection: 'lists', items: 5 } as const;
const others = { ...watchlist, userId: '8', items: 1_000, inserted: 1, updated: 2 };
const doubts = { rows: 2, milliseconds: 59_000 };

it.each<[string, PassProgress[], string]>([
  ['begins', [], '…'],
  ['sums up a collection over all accounts', [watchlist, lists, others], 'watchlist 1,120 (+4 ~2) · lists 5'],
  [
    'counts deleted rows, and rows that are missing without a second proof',
    [{ ...lists, deleted: 1, doubts }],
    'lists 5 (-1 2 missing, read again in 59 s)',
  ],
])('the line of a reading %s', (_, passes, line) => {
  expect(readingLine(passes)).toBe(`reading: ${line}`);
});
