import { describe, expect, it } from 'vitest';
import type { Scope } from '../model/collections.ts';
import { walkHeap } from './process.ts';

const JOBS: Scope = { userId: '7', collection: 'research_jobs', parent: '' };
const NO_ROWS = { inserted: 0, updated: 0, unchanged: 0, quarantined: 0 };

describe('walkHeap', () => {
  const begin = () => {
    const set: string[] = [];
    const observer = walkHeap((flags) => set.push(flags));
    const ended = { kind: 'full', outcome: 'complete', error: undefined, pages: 1, milliseconds: 1 } as const;
    return {
      set,
      page: (scope: Scope, items: number) => observer.pageWritten?.({ scope, kind: 'full', items, ...NO_ROWS }),
      end: (scope: Scope) => observer.walkEnded?.({ scope, items: 1, inserted: 0, updated: 0, ...ended }),
    };
  };

  const [RESTS, LOADS] = ['--heap-growing-percent=30', '--heap-growing-percent=150'];

  it('bounds the heap, except while a walk is a load and not a long one', () => {
    const { set, page, end } = begin();
    page(JOBS, 1_999);
    expect(set).toEqual([RESTS]);
    page(JOBS, 1);
    page(JOBS, 500);
    expect(set).toEqual([RESTS, LOADS]);
    page(JOBS, 197_500);
    expect(set).toEqual([RESTS, LOADS, RESTS]);
    end(JOBS);
    expect(set).toHaveLength(3);
  });

  it('bounds the heap until the last long walk has ended', () => {
    const { set, page, end } = begin();
    const [first, second, load] = [JOBS, { ...JOBS, userId: '8' }, { ...JOBS, userId: '9' }];
    page(first, 200_000);
    page(second, 200_000);
    page(load, 10_000);
    end(first);
    expect(set).toEqual([RESTS]);
    end(second);
    expect(set).toEqual([RESTS, LOADS]);
    end(load);
    expect(set).toEqual([RESTS, LOADS, RESTS]);
  });

  it('counts the items of each walk from its beginning', () => {
    const { set, page, end } = begin();
    page(JOBS, 1_500);
    page({ ...JOBS, collection: 'lists' }, 1_500);
    end(JOBS);
    page(JOBS, 1_500);
    expect(set).toEqual([RESTS]);
  });
});
