import { describe, expect, it } from 'vitest';
import type { Scope } from '../../model/collections.ts';
import { longWalkHeap } from './long-walk-heap.ts';

const JOBS: Scope = { userId: '7', collection: 'research_jobs', parent: '' };
const NO_ROWS = { inserted: 0, updated: 0, unchanged: 0, quarantined: 0 };

describe('longWalkHeap', () => {
  const begin = () => {
    const set: string[] = [];
    const observer = longWalkHeap((flags) => set.push(flags));
    return {
      set,
      page: (scope: Scope, items: number) =>
        observer.pageWritten?.({ scope, kind: 'full', items, ...NO_ROWS }),
      end: (scope: Scope) =>
        observer.walkEnded?.({
          scope,
          kind: 'full',
          outcome: 'complete',
          error: undefined,
          pages: 1,
          items: 1,
          milliseconds: 1,
        }),
    };
  };

  it('bounds the heap from the page on which a walk gets long, until the last long one ends', () => {
    const { set, page, end } = begin();
    const other = { ...JOBS, userId: '8' };
    page(JOBS, 199_999);
    expect(set).toEqual([]);
    page(JOBS, 1);
    page(JOBS, 500);
    page(other, 200_000);
    expect(set).toEqual(['--heap-growing-percent=30']);
    end(JOBS);
    expect(set).toHaveLength(1);
    end(other);
    expect(set).toEqual(['--heap-growing-percent=30', '--heap-growing-percent=80']);
  });

  it('counts each walk by itself, and from its own beginning', () => {
    const { set, page, end } = begin();
    page(JOBS, 150_000);
    page({ ...JOBS, collection: 'lists' }, 150_000);
    end(JOBS);
    page(JOBS, 150_000);
    expect(set).toEqual([]);
  });
});
