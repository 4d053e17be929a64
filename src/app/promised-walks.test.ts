import { describe, expect, it } from 'vitest';
import type { CollectionName } from '../model/collections.ts';
import { promisedWalks } from './promised-walks.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 10);
const at = (hour: number, minute: number, day = 2): Date => new Date(Date.UTC(2026, 0, day, hour, minute));

function waits(promised: Partial<Record<CollectionName, Date>>, next: Date | null): [string, number][] {
  const stored = new Map(Object.entries(promised));
  return [...promisedWalks(['lists', 'watchlist'], stored, () => next, NOW)];
}

describe('full walks that were promised before this process began', () => {
  it('are due at once where their time has come while nobody ran, or in the middle of them', () => {
    expect(waits({ lists: at(2, 0), watchlist: at(3, 9, 1) }, at(3, 30, 3))).toEqual([
      ['lists', 0],
      ['watchlist', 0],
    ]);
  });

  it('wait for their time where their cron line has fired already', () => {
    expect(waits({ lists: at(3, 30) }, at(3, 30, 3))).toEqual([['lists', 20 * 60_000]]);
  });

  it('are left to their cron line where it is still to fire, was set earlier since, or is none any more', () => {
    expect(waits({ lists: at(3, 30) }, at(3, 30))).toEqual([]);
    expect(waits({ lists: at(3, 30, 5) }, at(3, 30))).toEqual([]);
    expect(waits({ lists: at(2, 0) }, null)).toEqual([]);
    expect(waits({}, at(3, 30))).toEqual([]);
  });
});
