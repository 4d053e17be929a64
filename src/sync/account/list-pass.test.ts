import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredScope } from '../../mirror/scope/scope-store.ts';
import { collection, type ListCollection } from '../../model/collections.ts';
import type { DueScopesBounds } from '../reader/account-store.ts';
import { firstInBatch } from '../../plan/next-reading.ts';
import { type ListPassOptions, passOverScopes } from './list-pass.ts';

const LISTS = collection('list_items') as ListCollection;
const SINCE = new Date('2026-01-01T00:00:00Z');

/** Lists in memory, with the rules of the real query: due ones first, then those not read since. */
class Lists {
  readonly readAt = new Map<string, number>();
  readonly due = new Set<string>();
  readonly asked: DueScopesBounds[] = [];

  constructor(ids: readonly string[]) {
    for (const id of ids) this.readAt.set(id, 0);
  }

  dueScopes(_: ListCollection, asked: DueScopesBounds): Promise<StoredScope[]> {
    this.asked.push(asked);
    const found = [...this.readAt]
      .filter(([id]) => !asked.except.includes(id))
      .filter(([id, at]) => this.due.has(id) || at < asked.notReadSince.getTime())
      .toSorted(([a], [b]) => Number(this.due.has(b)) - Number(this.due.has(a)))
      .slice(0, asked.limit);
    return Promise.resolve(found.map(([parent]) => ({ scope: { parent } }) as StoredScope));
  }

  /** For a pass: every list can be read. */
  readonly reading = ({ scope: { parent } }: StoredScope): Promise<boolean> => {
    this.read(parent);
    return Promise.resolve(true);
  };

  read(id: string): void {
    this.readAt.set(id, SINCE.getTime() + 1);
    this.due.delete(id);
  }
}

const ids = Array.from({ length: 50 }, (_, index) => String(index));
const options = {
  lists: LISTS,
  since: SINCE,
  dueOnly: false,
  announced: 'believed' as const,
  fully: false,
  workers: 4,
  crowded: () => false,
  now: () => SINCE,
  until: undefined,
  count: () => Promise.resolve(50),
  again: false,
  first: () => 'changed' as const,
  signal: new AbortController().signal,
};

let lists: Lists;
beforeEach(() => {
  lists = new Lists(ids);
});

describe('a pass over lists', () => {
  it('ends with the line’s next run, so that the next pass begins with the greatest need; new ones it still reads', async () => {
    let now = SINCE.getTime();
    const until = new Date(now + 10);
    const bounded = { ...options, workers: 1, now: () => new Date(now), until };
    const fresh = new Set(['3', '4']);
    const read: string[] = [];
    const store = {
      dueScopes: async (_: ListCollection, asked: DueScopesBounds): Promise<StoredScope[]> => {
        const found = await lists.dueScopes(_, { ...asked, limit: ids.length });
        const scopes = found.map(({ scope }) => ({
          scope,
          ...(fresh.has(scope.parent) ? {} : { lastReadAt: SINCE }),
        }));
        return scopes
          .toSorted((a, b) => Number('lastReadAt' in a) - Number('lastReadAt' in b))
          .slice(0, asked.limit) as StoredScope[];
      },
    };
    await passOverScopes(store, { ...bounded, until: SINCE }, async ({ scope: { parent } }) => {
      read.push(parent);
      fresh.delete(parent);
      lists.read(parent);
      await Promise.resolve();
      return true;
    });
    expect(read).toEqual(['3', '4']);
    const { read: some } = await passOverScopes(store, bounded, async ({ scope: { parent } }) => {
      now += 1;
      lists.read(parent);
      await Promise.resolve();
      return true;
    });
    expect(some).toBe(10);
  });

  it('reads a list that comes due meanwhile before those that are only old', async () => {
    const read: string[] = [];
    await passOverScopes(lists, { ...options, workers: 1 }, ({ scope: { parent } }) => {
      read.push(parent);
      lists.read(parent);
      if (parent === '3') lists.due.add('0');
      return Promise.resolve(true);
    });
    expect(read.filter((id) => id === '0')).toHaveLength(2);
    expect(read.lastIndexOf('0')).toBeLessThan(30);
  });

  it('tries a list that failed once a pass', async () => {
    let tries = 0;
    await passOverScopes(lists, options, ({ scope: { parent } }) => {
      if (parent === '7') tries += 1;
      else lists.read(parent);
      return Promise.resolve(parent !== '7');
    });
    expect(tries).toBe(1);
  });

  it('ends with the error that a read throws, once all reads have ended', async () => {
    let open = 0;
    const pass = passOverScopes(lists, options, async ({ scope: { parent } }) => {
      open += 1;
      await Promise.resolve();
      open -= 1;
      if (parent === '2') throw new Error('lease lost');
      lists.read(parent);
      return true;
    });
    await expect(pass).rejects.toThrow('lease lost');
    expect(open).toBe(0);
  });

  it('asks for few at once where it can’t read all, and says in which order', async () => {
    let batches = 0;
    const first = (): 'changed' | 'oldest' => firstInBatch((batches += 1));
    const until = new Date(SINCE.getTime() + 1);
    const count = (): Promise<number> => Promise.resolve(300);
    await passOverScopes(lists, { ...options, until, count, first }, lists.reading);
    const [start, ...others] = lists.asked;
    expect(start?.limit).toBe(20);
    expect(new Set(others.map(({ limit }) => limit))).toEqual(new Set([3]));
    const changedFirst = lists.asked.filter((each) => each.first === 'changed');
    expect(changedFirst).toHaveLength(Math.floor((lists.asked.length + 1) / 5));
    // All of them are read in any case.
    const all = new Lists(ids);
    await passOverScopes(all, { ...options, count }, all.reading);
    expect(new Set(all.asked.map(({ limit }) => limit))).toEqual(new Set([20]));
  });

  it('asks for lists again that it has read, once it is known that it can’t read all and the last one could not either', async () => {
    const asked = async (more: Partial<ListPassOptions>): Promise<boolean[]> => {
      const lists = new Lists(ids);
      await passOverScopes(lists, { ...options, again: true, ...more }, lists.reading);
      return lists.asked.map(({ again }) => again);
    };
    const until = new Date(SINCE.getTime() + 1);
    const [start, ...others] = await asked({ until });
    expect([start, new Set(others)]).toEqual([false, new Set([true])]);
    for (const more of [{}, { until, again: false }, { until, fully: true }, { until, dueOnly: true }])
      expect(new Set(await asked(more))).toEqual(new Set([false]));
  });

  it('says whether it left some over', async () => {
    const read = (): Promise<boolean> => Promise.resolve(true);
    const stored = { ...options, until: SINCE };
    const store = {
      dueScopes: async (_: ListCollection, asked: DueScopesBounds): Promise<StoredScope[]> =>
        (await lists.dueScopes(_, asked)).map((each) => ({ ...each, lastReadAt: SINCE })),
    };
    expect((await passOverScopes(store, stored, read)).leftOver).toBe(true);
    for (const id of ids) lists.read(id);
    expect((await passOverScopes(store, stored, read)).leftOver).toBe(false);
  });

  it('ends with the line’s next run although lists have changed, and a new one fails again and again', async () => {
    const scopes = { dueAt: SINCE, lastReadAt: undefined, failures: 3 };
    const store = {
      dueScopes: async (_: ListCollection, asked: DueScopesBounds): Promise<StoredScope[]> =>
        (await lists.dueScopes(_, asked)).map((stored) => ({ ...stored, ...scopes })),
    };
    const bounded = { ...options, until: SINCE };
    const read = (): Promise<boolean> => Promise.resolve(true);
    expect((await passOverScopes(store, bounded, read)).read).toBe(0);
  });

  it('over due lists ends with the line’s next run, and reads those unread for a day before', async () => {
    const until = new Date(SINCE.getTime() + 1);
    let now = SINCE.getTime();
    const bounded = { ...options, workers: 1, dueOnly: true, now: () => new Date(now), until };
    const { read } = await passOverScopes(lists, bounded, ({ scope: { parent } }) => {
      lists.read(parent);
      now += 1;
      return Promise.resolve(true);
    });
    expect(read).toBe(1);
    const [asked] = lists.asked;
    expect(asked).toMatchObject({ notReadSince: new Date(SINCE.getTime() - 86_400_000), resting: 'out' });
  });

  it('reads one list at a time while requests wait for slots, and more again when none does', async () => {
    let crowded = true;
    let open = 0;
    const side: number[] = [];
    await passOverScopes(lists, { ...options, crowded: () => crowded }, async ({ scope: { parent } }) => {
      open += 1;
      side.push(open);
      if (side.length === 20) crowded = false;
      if (side.length === 40) crowded = true;
      await Promise.resolve();
      open -= 1;
      lists.read(parent);
      return true;
    });
    expect(side).toHaveLength(50);
    expect(Math.max(...side.slice(0, 20))).toBe(1);
    expect(Math.max(...side.slice(20, 40))).toBe(4);
    expect(Math.max(...side.slice(44))).toBe(1);
  });
});
