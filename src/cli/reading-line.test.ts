import { describe, expect, it } from 'vitest';
import type { PassProgress } from '../app/pass-progress.ts';
import { readingLine } from './reading-line.ts';

function pass(
  userId: string,
  collection: PassProgress['collection'],
  figures: Partial<PassProgress>,
): PassProgress {
  return { userId, collection, pages: 1, items: 0, inserted: 0, updated: 0, ...figures };
}

describe('readingLine', () => {
  it('names a collection once, however many accounts have it', () => {
    const line = readingLine([
      pass('7', 'watchlist', { items: 120, inserted: 3 }),
      pass('7', 'lists', { items: 5 }),
      pass('8', 'watchlist', { items: 1_000, inserted: 1, updated: 2 }),
    ]);
    expect(line).toBe('reading: watchlist 1,120 (+4 ~2) · lists 5');
  });

  it('says that it begins while nothing has been read: the rate limit may keep it waiting', () => {
    expect(readingLine([])).toBe('reading: …');
  });
});
