import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredScope } from '../mirror/scope-store.ts';
import { collection, type ListCollection } from '../model/collections.ts';
import type { AccountStore } from './account-store.ts';
import { passOverScopes } from './read-lists.ts';

type DueScopesBounds = Parameters<AccountStore['dueScopes']>[1];
type ListPassOptions = Parameters<typeof passOverScopes>[1];

const SINCE = new Date('2026-01-01T00:00:00Z');
/** So that one list is read at a time. */
const ALWAYS = (): boolean => true;
const after = (ms: number): Date => new Date(SINCE.getTime() + ms);

/** Lists in memory with the real query's order: changed ones first if requested, then those unread longest. */
class Lists {
  readonly readAt: Map<string, number>;
  readonly due = new Set<string>();
  readonly asked: DueScopesBounds[] = [];

  /** Which change again as soon as they are read. */
  changing: (id: string) => boolean = () => false;
  readonly #now: () => number;

  constructor(count = 50, now = () => SINCE.getTime() + 1) {
    this.#now = now;
    this.readAt = new Map(Array.from({ length: count }, (_, index) => [String(index), 0]));
  }

  dueScopes(_: ListCollection, asked: DueScopesBounds): Promise<StoredScope[]> {
    this.asked.push(asked);
    const isFirst = (id: string): number => Number(asked.first === 'changed' && this.due.has(id));
    const found = [...this.readAt]
      .filter(([id]) => !asked.except.includes(id))
      .filter(([id, at]) => this.due.has(id) || at < asked.notReadSince.getTime())
      .toSorted(([a, aAt], [b, bAt]) => isFirst(b) - isFirst(a) || aAt - bAt)
      .slice(0, asked.limit);
    return Promise.resolve(found.map(([id]) => ({ scope: { parent: id } }) as StoredScope));
  }

  read(id: string): void {
    this.readAt.set(id, this.#now());
    if (this.changing(id)) this.due.add(id);
    else this.due.delete(id);
  }
}

let lists: Lists;
beforeEach(() => {
  lists = new Lists();
});

/** A pass whose readings are as `read` says, which may answer that one failed. */
function pass(more: Partial<ListPassOptions> = {}, read: (id: string) => unknown = () => true) {
  const options: ListPassOptions = {
    lists: collection('list_items') as ListCollection,
    since: SINCE,
    dueOnly: false,
    fully: false,
    crowded: () => false,
    now: () => SINCE,
    until: undefined,
    first: 'changed',
    signal: new AbortController().signal,
    ...more,
  };
  return passOverScopes(lists, options, async ({ scope: { parent } }) => {
    const isRead = (await read(parent)) !== false;
    if (isRead) lists.read(parent);
    return isRead;
  });
}

describe('a pass over lists', () => {
  it.each([false, true])('ends with the line’s next run; due lists only: %s', async (dueOnly) => {
    let now = SINCE.getTime();
    const bounded = { crowded: ALWAYS, dueOnly, now: () => new Date(now), until: after(10) };
    for (const id of lists.readAt.keys()) lists.due.add(id);
    const read = await pass(bounded, () => {
      now += 1;
    });
    expect(read).toBe(10);
    expect(lists.asked[0]).toMatchObject(
      dueOnly ? { notReadSince: new Date(0), resting: 'out' } : { notReadSince: SINCE, resting: 'last' },
    );
  });

  it.each(['changed', 'unread'] as const)(
    'that begins with %s lists reads a list that comes due meanwhile before old ones',
    async (first) => {
      const read: string[] = [];
      await pass({ crowded: ALWAYS, first }, (id) => {
        read.push(id);
        if (id === '3') lists.due.add('0');
      });
      expect(read.filter((id) => id === '0')).toHaveLength(2);
      expect(read.lastIndexOf('0')).toBeLessThanOrEqual(20);
    },
  );

  it('tries a failed list once', async () => {
    let tries = 0;
    await pass({}, (id) => {
      if (id === '7') tries += 1;
      return id !== '7';
    });
    expect(tries).toBe(1);
  });

  it('ends with the error of a read after all reads have ended', async () => {
    let open = 0;
    const failing = pass({}, async (id) => {
      open += 1;
      await Promise.resolve();
      open -= 1;
      if (id === '2') throw new Error('lease lost');
    });
    await expect(failing).rejects.toThrow('lease lost');
    expect(open).toBe(0);
  });

  it('starves no list, however many lists change again and again and however short the runs are', async () => {
    const shapes = fc.record({
      count: fc.integer({ min: 1, max: 80 }),
      changing: fc.integer({ min: 0, max: 80 }),
      readsOfARun: fc.integer({ min: 1, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(shapes, async ({ count, changing, readsOfARun }) => {
        let now = SINCE.getTime();
        lists = new Lists(count, () => now);
        lists.changing = (id) => Number(id) < changing;
        let readings = 0;
        const lastRead = new Map([...lists.readAt.keys()].map((id) => [id, 0]));
        const longest = 2 * (count + Math.max(10, readsOfARun));
        const most = 1 + (4 * longest) / Math.min(count, readsOfARun);
        for (let run = 1; run <= most; run += 1) {
          now += 1;
          const since = new Date(now);
          const until = new Date(now + readsOfARun);
          const first = run % 2 === 1 ? 'changed' : 'unread';
          await pass({ crowded: ALWAYS, since, until, now: () => new Date(now), first }, (id) => {
            now += 1;
            readings += 1;
            expect(readings - (lastRead.get(id) ?? 0)).toBeLessThanOrEqual(longest);
            lastRead.set(id, readings);
          });
        }
        for (const at of lastRead.values()) expect(readings - at).toBeLessThanOrEqual(longest);
      }),
      { numRuns: 50 },
    );
  });

  it('reads at most four lists of a batch at a time, and one if requests wait for slots', async () => {
    const side: number[] = [];
    let open = 0;
    await pass({ crowded: () => side.length < 20 || side.length >= 40 }, async () => {
      open += 1;
      side.push(open);
      await Promise.resolve();
      open -= 1;
    });
    expect(side).toHaveLength(50);
    expect([side.slice(0, 20), side.slice(20, 40), side.slice(40)].map((part) => Math.max(...part))).toEqual([1, 4, 1]);
  });
});
