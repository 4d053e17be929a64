import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredScope } from '../../mirror/scope/scope-store.ts';
import { collection, type ListCollection } from '../../model/collections.ts';
import type { DueScopesBounds } from '../reader/account-store.ts';
import { firstInBatch } from '../../plan/next-reading.ts';
import { type ListPassOptions, passOverScopes } from './list-pass.ts';

const SINCE = new Date('2026-01-01T00:00:00Z');
const after = (ms: number): Date => new Date(SINCE.getTime() + ms);

/** Fifty lists in memory, with the rules of the real query: due ones first, new ones, those not read since. */
class Lists {
  readonly readAt = new Map(Array.from({ length: 50 }, (_, index) => [String(index), 0]));
  readonly due = new Set<string>();
  readonly asked: DueScopesBounds[] = [];
  /** What else is stored of a list; without `lastReadAt` it is a new one. */
  stored: (id: string) => Partial<StoredScope> = () => ({});

  dueScopes(_: ListCollection, asked: DueScopesBounds): Promise<StoredScope[]> {
    this.asked.push(asked);
    const rank = (id: string): number => (this.due.has(id) ? 2 : 'lastReadAt' in this.stored(id) ? 0 : 1);
    const found = [...this.readAt]
      .filter(([id]) => !asked.except.includes(id))
      .filter(([id, at]) => this.due.has(id) || at < asked.notReadSince.getTime())
      .toSorted(([a], [b]) => rank(b) - rank(a))
      .slice(0, asked.limit);
    return Promise.resolve(
      found.map(([id]) => ({ scope: { parent: id }, ...this.stored(id) }) as StoredScope),
    );
  }

  read(id: string): void {
    this.readAt.set(id, SINCE.getTime() + 1);
    this.due.delete(id);
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
    announced: 'believed',
    fully: false,
    workers: 4,
    crowded: () => false,
    now: () => SINCE,
    until: undefined,
    count: () => Promise.resolve(50),
    again: false,
    first: () => 'changed',
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
  it('ends with the line’s next run, so that the next pass begins with the greatest need; new ones it still reads', async () => {
    let now = SINCE.getTime();
    const bounded = { workers: 1, now: () => new Date(now) };
    const fresh = new Set(['3', '4']);
    lists.stored = (id) => (fresh.has(id) ? {} : { lastReadAt: SINCE });
    const read: string[] = [];
    await pass({ ...bounded, until: SINCE }, (id) => {
      read.push(id);
      fresh.delete(id);
    });
    expect(read).toEqual(['3', '4']);
    const some = await pass({ ...bounded, until: after(10) }, () => {
      now += 1;
    });
    expect(some.read).toBe(10);
  });

  it('reads a list that comes due meanwhile before those that are only old', async () => {
    const read: string[] = [];
    await pass({ workers: 1 }, (id) => {
      read.push(id);
      if (id === '3') lists.due.add('0');
    });
    expect(read.filter((id) => id === '0')).toHaveLength(2);
    expect(read.lastIndexOf('0')).toBeLessThan(30);
  });

  it('tries a list that failed once a pass', async () => {
    let tries = 0;
    await pass({}, (id) => {
      if (id === '7') tries += 1;
      return id !== '7';
    });
    expect(tries).toBe(1);
  });

  it('ends with the error that a read throws, once all reads have ended', async () => {
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

  it('asks for few at once where it can’t read all, and says in which order', async () => {
    let batches = 0;
    const first = (): 'changed' | 'oldest' => firstInBatch((batches += 1));
    const count = (): Promise<number> => Promise.resolve(300);
    await pass({ until: after(1), count, first });
    const [start, ...others] = lists.asked.map(({ limit }) => limit);
    expect([start, new Set(others)]).toEqual([20, new Set([3])]);
    const changedFirst = lists.asked.filter((each) => each.first === 'changed');
    expect(changedFirst).toHaveLength(Math.floor((lists.asked.length + 1) / 5));
    // All of them are read in any case.
    lists = new Lists();
    await pass({ count });
    expect(new Set(lists.asked.map(({ limit }) => limit))).toEqual(new Set([20]));
  });

  it.each<[boolean, Partial<ListPassOptions>]>([
    [true, { until: after(1) }],
    [false, {}],
    [false, { until: after(1), again: false }],
    [false, { until: after(1), fully: true }],
    [false, { until: after(1), dueOnly: true }],
  ])('asks for lists again (%s) once it, and the last one, can’t read all: %j', async (again, more) => {
    await pass({ again: true, ...more });
    const [start, ...others] = lists.asked.map((each) => each.again);
    expect(start).toBe(false);
    expect(others.every((each) => each === again)).toBe(true);
  });

  it('says whether it left some over', async () => {
    lists.stored = () => ({ lastReadAt: SINCE });
    expect((await pass({ until: SINCE })).leftOver).toBe(true);
    for (const id of lists.readAt.keys()) lists.read(id);
    expect((await pass({ until: SINCE })).leftOver).toBe(false);
  });

  it('ends with the line’s next run although lists have changed, and a new one fails again and again', async () => {
    lists.stored = () => ({ dueAt: SINCE, lastReadAt: undefined, failures: 3 });
    expect((await pass({ until: SINCE })).read).toBe(0);
  });

  it('over due lists ends with the line’s next run, and reads those unread for a day before', async () => {
    let now = SINCE.getTime();
    const { read } = await pass(
      { workers: 1, dueOnly: true, now: () => new Date(now), until: after(1) },
      () => {
        now += 1;
      },
    );
    expect(read).toBe(1);
    expect(lists.asked[0]).toMatchObject({ notReadSince: after(-86_400_000), resting: 'out' });
  });

  it('reads one list at a time while requests wait for slots, and more again when none does', async () => {
    let crowded = true;
    let open = 0;
    const side: number[] = [];
    await pass({ crowded: () => crowded }, async () => {
      open += 1;
      side.push(open);
      if (side.length === 20) crowded = false;
      if (side.length === 40) crowded = true;
      await Promise.resolve();
      open -= 1;
    });
    expect(side).toHaveLength(50);
    expect([side.slice(0, 20), side.slice(20, 40), side.slice(44)].map((part) => Math.max(...part))).toEqual([
      1, 4, 1,
    ]);
  });
});
