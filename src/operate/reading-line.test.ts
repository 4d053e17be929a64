import { describe, expect, it } from 'vitest';
import type { PassProgress } from '../account/pass.ts';
import { readingLine } from './sync.ts';

function pass(
  userId: string,
  collection: PassProgress['collection'],
  figures: Partial<PassProgress>,
): PassProgress {
  const nothing = { pages: 1, items: 0, inserted: 0, updated: 0, deleted: 0, doubts: null };
  return { userId, collection, ...nothing, ...figures };
}

describe('readingLine', () => {
  it('sums up a collection over all accounts', () => {
    const line = readingLine([
      pass('7', 'watchlist', { items: 120, inserted: 3 }),
      pass('7', 'lists', { items: 5 }),
      pass('8', 'watchlist', { items: 1_000, inserted: 1, updated: 2 }),
    ]);
    expect(line).toBe('reading: watchlist 1,120 (+4 ~2) · lists 5');
  });

  it('counts deleted rows, and rows that are missing without a second proof', () => {
    const doubts = { rows: 2, milliseconds: 59_000 };
    const line = readingLine([pass('7', 'lists', { items: 5, deleted: 1, doubts })]);
    expect(line).toBe('reading: lists 5 (-1 2 missing, read again in 59 s)');
  });

  it('says that it begins while nothing has been read', () => {
    expect(readingLine([])).toBe('reading: …');
  });
});
